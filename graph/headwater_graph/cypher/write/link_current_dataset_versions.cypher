// Link datasets to their current versions, or to none (specification 5.5).
// parameters: $rows [{dataset, version?}]
UNWIND $rows AS row
MATCH (n:Dataset {key: row.dataset})
  USING INDEX SEEK n:Dataset(key)
CALL (n) {
  MATCH (n)-[e:CURRENT]->()
  DELETE e
}
WITH row, n
MATCH (v:DatasetVersion {id: row.version})
  USING INDEX SEEK v:DatasetVersion(id)
CREATE (n)-[:CURRENT]->(v)
