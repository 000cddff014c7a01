// Marks, as in job_marks, of all jobs within reach of a dataset or job downstream, the nodes of downstream_region; keys of
// silent jobs, and how much work is owed.
// The length of a way is put in behind `*0..`: Cypher takes no parameter there.
// parameters: key, nodes, before, silent
OPTIONAL MATCH (d:Dataset {key: $key})
OPTIONAL MATCH (j:Job {key: $key})
WITH coalesce(d, j) AS start
CALL (start) {
  MATCH (start)-[:FEEDS|PRODUCES*0..]->(x)
  RETURN DISTINCT x LIMIT $nodes
}
WITH x AS j
WHERE j:Job
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
WITH collect([
  j.key, v.id, v.moment, v.lineageUnknown, v.codeVersion, v.runs, v.lastRun,
  v.lastRunAt.epochSeconds * 1000000 + v.lastRunAt.microsecond, v.lastRunState, v.lastRunStreaming,
  CASE WHEN j.facets CONTAINS '"ownership"' OR j.facets CONTAINS '"STREAMING"' OR j.facets CONTAINS '"SERVICE"' THEN j.facets END
]) AS marks
CALL (marks) {
  UNWIND ['NEW', 'RUNNING'] AS state
  MATCH (r:Run {state: state})
  WHERE r.lastEventAt < $before AND r.streaming IS NULL
  WITH r LIMIT $silent
  RETURN collect(DISTINCT r.job) AS silent
}
CALL (marks) {
  MATCH (o:Owed)
  RETURN count(o) AS owed
}
RETURN marks, silent, owed
