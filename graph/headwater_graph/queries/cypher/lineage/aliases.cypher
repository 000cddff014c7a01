// The aliases of some datasets, in both directions (specification 6.7), one step.
// parameters: keys, rows
UNWIND $keys AS at
MATCH (:Dataset {key: at})-[:ALIAS_OF]-(d:Dataset)
RETURN DISTINCT at, d.key AS key, d.namespace AS namespace, d.name AS name
LIMIT $rows
