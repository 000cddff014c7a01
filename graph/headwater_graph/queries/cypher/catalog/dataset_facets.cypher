// All facets of a dataset, as JSON text.
// parameters: key
MATCH (n:Dataset {key: $key})
RETURN n.facets AS facets
