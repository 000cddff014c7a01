// Return those of some runs that remain; `at` is the horizon as [seconds, nanoseconds].
// parameters: $keys, $at
WITH datetime({epochSeconds: $at[0], nanosecond: $at[1]}) AS horizon
UNWIND $keys AS key
MATCH (r:Run {key: key})
WHERE r.record IS NOT NULL AND NOT (r.state IN ['COMPLETE', 'ABORT', 'FAIL'] AND r.lastEventAt < horizon)
RETURN r.id AS id
