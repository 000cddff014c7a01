// What the current version of some jobs reads, at most `fan` of each; `aliased` tells that the dataset has other names.
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (j:Job {key: at})
CALL (j) {
  MATCH (j)<-[e:FEEDS]-(d:Dataset)
  RETURN d, e LIMIT $fan
}
RETURN at, d.key AS key, d.namespace AS namespace, d.name AS name, e.version AS version, null AS inputs,
  EXISTS { (d)-[:ALIAS_OF]-() } AS aliased
LIMIT $rows
