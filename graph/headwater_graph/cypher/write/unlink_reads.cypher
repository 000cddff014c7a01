// Unlink runs from the dataset versions that they read.
// parameters: $rows [{run, dataset}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})<-[e:READ_BY]-()
  USING INDEX SEEK r:Run(key)
WHERE e.dataset = row.dataset
DELETE e
