// The datasets of some keys.
// parameters: keys
UNWIND $keys AS key
MATCH (n:Dataset {key: key})
RETURN n.key AS key, n.namespace AS namespace, n.name AS name
