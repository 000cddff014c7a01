// Unlink runs from jobs that they do not belong to (specification 2.5).
// parameters: $rows [{run}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})-[e:RUN_OF]->()
  USING INDEX SEEK r:Run(key)
DELETE e
