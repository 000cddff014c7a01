// What the current version of some jobs reads, at most `fan` of each, as lists:
// from, key, namespace, name, version, inputs (specification 6.6), whether the dataset has other names.
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (j:Job {key: at})
CALL (j) {
  MATCH (j)<-[e:FEEDS]-(d:Dataset)
  RETURN d, e LIMIT $fan
}
WITH at, d, e LIMIT $rows
RETURN collect({hop: [at, d.key, d.namespace, d.name, e.version, null, EXISTS { (d)-[:ALIAS_OF]-() }]}) AS rows
