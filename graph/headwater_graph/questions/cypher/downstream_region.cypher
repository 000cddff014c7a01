// All within reach of a dataset or job downstream, each node once, the nearest ones first where `nodes` are not enough, in three
// records of which each can be read while the next is made: how nodes lie (current edges by ids that hold within the answer,
// `listed` are those that list inputs, SPEC 6.6), then marks as in dataset_marks, then as in job_marks.
// The length of a way is put in behind `*0..`: Cypher takes no parameter there.
// parameters: key, nodes, fan, before, silent
OPTIONAL MATCH (d:Dataset {key: $key})
OPTIONAL MATCH (j:Job {key: $key})
WITH coalesce(d, j) AS start
CALL (start) {
  MATCH (start)-[:FEEDS|PRODUCES*0..]->(x)
  RETURN DISTINCT x LIMIT $nodes
}
WITH collect(x) AS reached
UNWIND [0, 1, 2] AS part
CALL (reached, part) {
  UNWIND CASE part WHEN 0 THEN reached ELSE [] END AS x
  CALL (x) {
    MATCH (x)-[e:FEEDS|PRODUCES]->(y)
    RETURN y, e LIMIT $fan
  }
  RETURN collect(id(x)) AS near, collect(id(y)) AS far,
         collect(CASE WHEN e.inputs IS NOT NULL THEN [id(x), id(y), e.inputs] END) AS listed
}
CALL (reached, part) {
  UNWIND CASE part WHEN 0 THEN reached ELSE [] END AS d
  WITH d WHERE d:Dataset
  RETURN collect([id(d), d.key, d.namespace, d.name, EXISTS { (d)-[:ALIAS_OF]-() }]) AS datasets
}
CALL (reached, part) {
  UNWIND CASE part WHEN 0 THEN reached ELSE [] END AS j
  WITH j WHERE j:Job
  OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
  RETURN collect([id(j), j.key, j.namespace, j.name, v.id]) AS jobs
}
CALL (part) {
  UNWIND CASE part WHEN 0 THEN ['NEW', 'RUNNING'] ELSE [] END AS state
  MATCH (r:Run {state: state})
  WHERE r.lastEventAt < $before AND r.streaming IS NULL
  WITH r LIMIT $silent
  RETURN collect(DISTINCT r.job) AS silent
}
CALL (part) {
  MATCH (o:Owed)
  RETURN count(o) AS owed
}
CALL (reached, part) {
  UNWIND CASE part WHEN 1 THEN reached ELSE [] END AS d
  WITH d WHERE d:Dataset
  OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
  RETURN collect([
    d.key, d.dropped, v.id, v.moment, v.madeBy, v.external,
    CASE WHEN d.facets CONTAINS '"ownership"' THEN d.facets END
  ]) AS datasetMarks
}
CALL (reached, part) {
  UNWIND CASE part WHEN 2 THEN reached ELSE [] END AS j
  WITH j WHERE j:Job
  OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
  OPTIONAL MATCH (r:Run {id: v.lastRun})
  RETURN collect([
    j.key, v.id, v.moment, v.lineageUnknown, v.codeVersion, v.runs, v.lastRun,
    v.lastRunAt.epochSeconds * 1000000 + v.lastRunAt.microsecond, r.state, r.streaming,
    CASE WHEN j.facets CONTAINS '"ownership"' OR j.facets CONTAINS '"STREAMING"' OR j.facets CONTAINS '"SERVICE"' THEN j.facets END
  ]) AS jobMarks
}
RETURN near, far, listed, datasets, jobs, silent, owed, datasetMarks, jobMarks
