// Count runs that came to job versions, and say which was the last (SPEC 6.2). `at` is [seconds, nanoseconds].
// parameters: $rows [{id, runs, lastRun, at}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.runs = coalesce(v.runs, 0) + row.runs, v.lastRun = row.lastRun,
    v.lastRunAt = datetime({epochSeconds: row.at[0], nanosecond: row.at[1]})
