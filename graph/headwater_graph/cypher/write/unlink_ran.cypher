// Unlink runs from their job versions.
// parameters: $rows [{run}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})-[e:RAN]->()
  USING INDEX SEEK r:Run(key)
DELETE e
