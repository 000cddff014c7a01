// Point datasets at their current versions, or at none (SPEC 5.5).
// parameters: $rows [{dataset, version?}]
UNWIND $rows AS row
MATCH (n:Dataset {key: row.dataset})
CALL (n) {
  MATCH (n)-[e:CURRENT]->()
  DELETE e
}
WITH row, n
MATCH (v:DatasetVersion {id: row.version})
CREATE (n)-[:CURRENT]->(v)
