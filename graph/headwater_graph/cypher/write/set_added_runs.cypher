// Set the run count and the last run (specification 6.2) of job versions that have new runs; `run` is the key of the last run.
// `at` is [seconds, nanoseconds].
// parameters: $rows [{id, runs, lastRun, run, at}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
OPTIONAL MATCH (r:Run {key: row.run})
  USING INDEX SEEK r:Run(key)
SET v.runs = coalesce(v.runs, 0) + row.runs, v.lastRun = row.lastRun,
    v.lastRunAt = datetime({epochSeconds: row.at[0], nanosecond: row.at[1]}),
    v.lastRunState = r.state, v.lastRunStreaming = r.streaming
