// Delete jobs that no event and no parent facet names any more (specification 1.7).
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (j:Job {key: row.key})
  USING INDEX SEEK j:Job(key)
WHERE j.record IS NULL AND NOT EXISTS { (j)<-[:CHILD_OF]-() }
DELETE j
