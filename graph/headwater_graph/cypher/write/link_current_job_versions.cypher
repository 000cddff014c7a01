// Link jobs to their current versions, or to none (specification 4.2).
// parameters: $rows [{job, version?}]
UNWIND $rows AS row
MATCH (n:Job {key: row.job})
  USING INDEX SEEK n:Job(key)
CALL (n) {
  MATCH (n)-[e:CURRENT]->()
  DELETE e
}
WITH row, n
MATCH (v:JobVersion {id: row.version})
  USING INDEX SEEK v:JobVersion(id)
CREATE (n)-[:CURRENT]->(v)
