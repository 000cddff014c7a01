// Keep what the current edges of jobs stand on.
// parameters: $rows [{job, fold}]
UNWIND $rows AS row
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
SET j.fold = row.fold
