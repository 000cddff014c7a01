// The records of the runs that wrote the current versions of some datasets, and of those that read them last.
// parameters: keys
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
OPTIONAL MATCH (d)-[:CURRENT]->(:DatasetVersion)<-[:WROTE]-(w:Run)
CALL (key) {
  OPTIONAL MATCH ()-[e:READ_BY]->(r:Run) WHERE e.dataset = key AND e.moment IS NOT NULL
  RETURN r ORDER BY e.dataset DESC, e.moment DESC LIMIT 1
}
RETURN key, w.record AS written, r.record AS read
