// Untie runs from the jobs that they turned out not to belong to (specification 2.5).
// parameters: $rows [{run}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})-[e:RUN_OF]->()
  USING INDEX SEEK r:Run(key)
DELETE e
