// Upsert placeholders of removed runs that made remaining versions: a job version (`made`), or the given dataset version.
// parameters: $rows [{key, id, made?, version?}]
UNWIND $rows AS row
MERGE (r:Run {key: row.key})
ON CREATE SET r.id = row.id, r.placeholder = true
SET r.removed = true, r.made = coalesce(row.made, r.made)
WITH row, r
MATCH (v:DatasetVersion {id: row.version})
  USING INDEX SEEK v:DatasetVersion(id)
MERGE (r)-[:WROTE]->(v)
