// Create runs that have no node yet, and link them to their jobs. Times are [seconds, nanoseconds].
// parameters: $rows [{key, id, job, record, state, started?, ended?, last, moment?, tie?, streaming?, lineageUnknown?, codeVersion?, conflicts?, error?}]
UNWIND $rows AS row
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
CREATE (r:Run {
  key: row.key, id: row.id, job: row.job, record: row.record, state: row.state, moment: row.moment, tie: row.tie,
  streaming: row.streaming, lineageUnknown: row.lineageUnknown, codeVersion: row.codeVersion,
  conflicts: row.conflicts, error: row.error,
  startedAt: CASE WHEN row.started IS NULL THEN null ELSE datetime({epochSeconds: row.started[0], nanosecond: row.started[1]}) END,
  endedAt: CASE WHEN row.ended IS NULL THEN null ELSE datetime({epochSeconds: row.ended[0], nanosecond: row.ended[1]}) END,
  lastEventAt: CASE WHEN row.last IS NULL THEN null ELSE datetime({epochSeconds: row.last[0], nanosecond: row.last[1]}) END
})-[:RUN_OF]->(j)
