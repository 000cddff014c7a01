// Set the fold states of jobs, from which their current edges are derived.
// parameters: $rows [{job, fold}]
UNWIND $rows AS row
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
SET j.fold = row.fold
