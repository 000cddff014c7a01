// What marks all within reach of a dataset or job downstream, the nodes of downstream_region, in two records of which the
// first can be read while the next is made: of the datasets as in dataset_marks; of the jobs as in job_marks, with the keys of
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
WITH collect(x) AS reached
UNWIND ['datasets', 'jobs'] AS part
CALL (reached, part) {
  UNWIND CASE part WHEN 'datasets' THEN reached ELSE [] END AS d
  WITH d WHERE d:Dataset
  OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
  RETURN collect([
    d.key, d.dropped, v.id, v.moment, v.madeBy, v.external,
    CASE WHEN d.facets CONTAINS '"ownership"' THEN d.facets END
  ]) AS datasets
}
CALL (reached, part) {
  UNWIND CASE part WHEN 'jobs' THEN reached ELSE [] END AS j
  WITH j WHERE j:Job
  OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
  RETURN collect([
    j.key, v.id, v.moment, v.lineageUnknown, v.codeVersion, v.runs, v.lastRun,
    v.lastRunAt.epochSeconds * 1000000 + v.lastRunAt.microsecond, v.lastRunState, v.lastRunStreaming,
    CASE WHEN j.facets CONTAINS '"ownership"' OR j.facets CONTAINS '"STREAMING"' OR j.facets CONTAINS '"SERVICE"' THEN j.facets END
  ]) AS jobs
}
CALL (part) {
  UNWIND CASE part WHEN 'jobs' THEN ['NEW', 'RUNNING'] ELSE [] END AS state
  MATCH (r:Run {state: state})
  WHERE r.lastEventAt < $before AND r.streaming IS NULL
  WITH r LIMIT $silent
  RETURN collect(DISTINCT r.job) AS silent
}
CALL (part) {
  MATCH (o:Owed)
  RETURN count(o) AS owed
}
RETURN datasets, jobs, silent, owed
