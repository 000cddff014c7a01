// Some datasets with their facets, current versions and schemas, times as microseconds: when the first version was made
// (`created`), the current one (`written`), and of datasets without one when they were first and last read.
// parameters: keys
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
CALL (d) {
  OPTIONAL MATCH (first:DatasetVersion)
  WHERE first.dataset = d.key AND first.moment IS NOT NULL AND first.tie IS NOT NULL
  RETURN first.moment AS created ORDER BY first.dataset, first.moment, first.tie LIMIT 1
}
CALL (d, created) {
  WITH d WHERE created IS NULL
  OPTIONAL MATCH ()-[e:READ_BY]->() WHERE e.dataset = d.key AND e.moment IS NOT NULL
  RETURN e.moment AS firstRead ORDER BY e.dataset, e.moment LIMIT 1
  UNION
  WITH d WHERE created IS NOT NULL
  RETURN null AS firstRead
}
CALL (d, created) {
  WITH d WHERE created IS NULL
  OPTIONAL MATCH ()-[e:READ_BY]->() WHERE e.dataset = d.key AND e.moment IS NOT NULL
  RETURN e.moment AS lastRead ORDER BY e.dataset DESC, e.moment DESC LIMIT 1
  UNION
  WITH d WHERE created IS NOT NULL
  RETURN null AS lastRead
}
RETURN d.key AS key, d.namespace AS namespace, d.name AS name, d.facets AS facets, d.dropped AS dropped,
  v.id AS version, v.moment AS written, v.schema AS schema, created, firstRead, lastRead
