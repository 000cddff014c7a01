// Set the last run of job versions (specification 6.2); `run` is the run's key. `at` is [seconds, nanoseconds]. The state of a run
// that was removed is unknown, even if there is a newer run of that id (specification 10.11): its moment is another one.
// parameters: $rows [{id, lastRun?, lastRunAt?, run?, at?}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
OPTIONAL MATCH (r:Run {key: row.run})
  USING INDEX SEEK r:Run(key)
  WHERE r.moment = row.lastRunAt
SET v.lastRun = row.lastRun, v.lastRunState = r.state, v.lastRunStreaming = r.streaming,
    v.lastRunAt = CASE WHEN row.at IS NULL THEN null ELSE datetime({epochSeconds: row.at[0], nanosecond: row.at[1]}) END
