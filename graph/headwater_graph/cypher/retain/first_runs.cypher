// Return for each of some jobs its first run before the horizon that remains; `at` is the horizon as [seconds, nanoseconds].
// parameters: $keys, $horizon, $at
WITH datetime({epochSeconds: $at[0], nanosecond: $at[1]}) AS horizon
UNWIND $keys AS key
CALL (key, horizon) {
  MATCH (r:Run)
    USING INDEX SEEK r:Run(job, moment, tie)
  WHERE r.tie IS NOT NULL AND r.job = key AND r.moment < $horizon
    AND NOT (r.state IN ['COMPLETE', 'ABORT', 'FAIL'] AND r.lastEventAt < horizon)
  RETURN r ORDER BY r.job, r.moment, r.tie, r.id LIMIT 1
}
RETURN key AS job, r.moment AS moment, r.id AS id
