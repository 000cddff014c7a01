// What the current version of some jobs writes, at most `fan` of each; `aliased` tells that the dataset has other names.
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (j:Job {key: at})
CALL (j) {
  MATCH (j)-[e:PRODUCES]->(d:Dataset)
  RETURN d, e LIMIT $fan
}
RETURN at, d.key AS key, d.namespace AS namespace, d.name AS name, e.version AS version, e.inputs AS inputs,
  EXISTS { (d)-[:ALIAS_OF]-() } AS aliased
LIMIT $rows
