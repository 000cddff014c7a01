// Keep what the current edges of jobs stand on and runs told that retention removes.
// parameters: $rows [{job, retainedSources?}]
UNWIND $rows AS row
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
SET j.retainedSources = row.retainedSources
