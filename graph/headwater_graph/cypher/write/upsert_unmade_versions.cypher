// Upsert initial and external versions that runs read and no run made (specification 5.2, 5.3).
// parameters: $rows [{id, dataset, external?}]
UNWIND $rows AS row
MERGE (v:DatasetVersion {id: row.id})
ON CREATE SET v.dataset = row.dataset, v.external = row.external
WITH row, v
WHERE NOT EXISTS { (v)<-[:HAS_VERSION]-() }
MATCH (d:Dataset {key: row.dataset})
  USING INDEX SEEK d:Dataset(key)
CREATE (d)-[:HAS_VERSION]->(v)
