// Delete placeholders that no parent facet names any more (specification 1.7), except those of removed runs.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
  USING INDEX SEEK r:Run(key)
WHERE r.record IS NULL AND r.removed IS NULL AND NOT EXISTS { (r)<-[:CHILD_OF]-() }
DELETE r
