// The jobs of some keys.
// parameters: keys
UNWIND $keys AS key
MATCH (n:Job {key: key})
RETURN n.key AS key, n.namespace AS namespace, n.name AS name
