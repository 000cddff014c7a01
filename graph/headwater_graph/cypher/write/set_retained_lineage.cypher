// Set the lineage that removed runs reported and that the current edges of jobs depend on.
// parameters: $rows [{job, retainedSources?}]
UNWIND $rows AS row
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
SET j.retainedSources = row.retainedSources
