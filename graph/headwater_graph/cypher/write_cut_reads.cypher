// Cut which version of a dataset a run read.
// parameters: $rows [{run, dataset}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})<-[e:READ_BY]-()
WHERE e.dataset = row.dataset
DELETE e
