// The run with a key.
// parameters: key
MATCH (r:Run {key: $key})
RETURN r.key AS key, r.id AS id
