// Take runs out of the job versions they are in.
// parameters: $rows [{run}]
UNWIND $rows AS row
MATCH (:Run {key: row.run})-[e:RAN]->()
DELETE e
