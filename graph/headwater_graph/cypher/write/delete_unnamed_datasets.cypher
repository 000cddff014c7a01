// Delete datasets that no event and no alias names any more (specification 1.7).
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.key})
  USING INDEX SEEK d:Dataset(key)
WHERE d.record IS NULL AND NOT EXISTS { (d)<-[:ALIAS_OF]-() }
DETACH DELETE d
