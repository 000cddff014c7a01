// All facets of a job, as JSON text.
// parameters: key
MATCH (n:Job {key: $key})
RETURN n.facets AS facets
