// What the current version of some jobs writes, at most `fan` of each, as lists:
// from, key, namespace, name, version, inputs (specification 6.6), whether the dataset has aliases.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (j:Job {key: at})
CALL (j) {
  MATCH (j)-[e:PRODUCES]->(d:Dataset)
  RETURN d, e LIMIT $fan
}
WITH at, d, e LIMIT $rows
RETURN collect({neighbour: [at, d.key, d.namespace, d.name, e.version, e.inputs, EXISTS { (d)-[:ALIAS_OF]-() }]}) AS rows
