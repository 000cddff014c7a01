// What some jobs wrote as of a time (specification 6.4), at most `fan` of each, as lists:
// from, key, namespace, name, version, inputs (specification 6.6), whether the dataset has aliases.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys, fan, rows, time
UNWIND $keys AS at
MATCH (j:Job {key: at})
CALL (j) {
  MATCH (j)-[:HAS_VERSION]->(v:JobVersion)-[:HAS_OUTPUT]->(d:Dataset)
  WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo)
  RETURN d, v LIMIT $fan
}
OPTIONAL MATCH (j)-[e:PRODUCES]->(d) WHERE e.version = v.id
WITH at, d, e, v LIMIT $rows
RETURN collect({neighbour: [at, d.key, d.namespace, d.name, v.id, e.inputs, EXISTS { (d)-[:ALIAS_OF]-() }]}) AS rows
