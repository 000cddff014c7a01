// Delete runs.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
  USING INDEX SEEK r:Run(key)
DETACH DELETE r
