// The fields of some keys.
// parameters: keys
UNWIND $keys AS key
MATCH (f:Field {key: key})
RETURN f.key AS key, f.namespace AS namespace, f.dataset AS dataset, f.name AS name
