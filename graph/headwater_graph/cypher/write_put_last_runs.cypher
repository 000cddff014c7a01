// Say which run was the last of job versions (SPEC 6.2). `at` is [seconds, nanoseconds].
// parameters: $rows [{id, lastRun?, at?}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.lastRun = row.lastRun, v.lastRunAt = CASE WHEN row.at IS NULL THEN null ELSE datetime({epochSeconds: row.at[0], nanosecond: row.at[1]}) END
