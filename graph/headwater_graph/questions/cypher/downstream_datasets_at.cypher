// What some jobs wrote as of a time (SPEC 6.4), at most `fan` of each.
// parameters: keys, fan, rows, time
UNWIND $keys AS at
MATCH (j:Job {key: at})
CALL (j) {
  MATCH (j)-[:HAS_VERSION]->(v:JobVersion)-[:HAS_OUTPUT]->(d:Dataset)
  WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo)
  RETURN d, v LIMIT $fan
}
OPTIONAL MATCH (j)-[e:PRODUCES]->(d) WHERE e.version = v.id
RETURN at, d.key AS key, d.namespace AS namespace, d.name AS name, v.id AS version, e.inputs AS inputs,
  EXISTS { (d)-[:ALIAS_OF]-() } AS aliased
LIMIT $rows
