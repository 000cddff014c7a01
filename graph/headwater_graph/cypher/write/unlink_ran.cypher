// Take runs out of the job versions they are in.
// parameters: $rows [{run}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})-[e:RAN]->()
  USING INDEX SEEK r:Run(key)
DELETE e
