// What some jobs read as of a time (specification 6.4), at most `fan` of each, as lists:
// from, key, namespace, name, version, inputs (specification 6.6), whether the dataset has other names.
// parameters: keys, fan, rows, time
UNWIND $keys AS at
MATCH (j:Job {key: at})
CALL (j) {
  MATCH (j)-[:HAS_VERSION]->(v:JobVersion)-[:HAS_INPUT]->(d:Dataset)
  WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo)
  RETURN d, v LIMIT $fan
}
WITH at, d, v LIMIT $rows
RETURN collect({hop: [at, d.key, d.namespace, d.name, v.id, null, EXISTS { (d)-[:ALIAS_OF]-() }]}) AS rows
