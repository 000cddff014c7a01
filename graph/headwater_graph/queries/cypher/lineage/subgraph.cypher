// All within reach of a dataset or job downstream, each node once; of more than `nodes`, the nearest ones. The current edges
// are pairs of ids that are valid within the answer; `listed` are those that list inputs (specification 6.6). With `rows` edges
// or more there are none, and the answer is not `whole`. The summaries are those of node_summary.py; of a node without one, as
// far as the names. `silent` are the jobs with silent runs, `deferred` is the amount of deferred work.
// The length of a path is inserted after `*0..`: Cypher takes no parameter there.
// Upstream every arrow of data is reversed (reader.py).
// parameters: key, nodes, rows, before, silent
OPTIONAL MATCH (d:Dataset {key: $key})
OPTIONAL MATCH (j:Job {key: $key})
WITH coalesce(d, j) AS start
CALL (start) {
  MATCH (start)-[:FEEDS|PRODUCES*0..]->(x)
  RETURN DISTINCT x LIMIT $nodes
}
WITH collect(x) AS reached
CALL (reached) {
  UNWIND reached AS x
  MATCH (x)-[e:FEEDS|PRODUCES]->(y)
  WITH x, e, y LIMIT $rows
  WITH collect(id(x)) AS near, collect(id(y)) AS far,
       collect(CASE WHEN e.inputs IS NOT NULL THEN [id(x), id(y), e.inputs] END) AS listed
  WITH *, size(near) < $rows AS whole
  RETURN whole, CASE WHEN whole THEN near ELSE [] END AS near, CASE WHEN whole THEN far ELSE [] END AS far,
         CASE WHEN whole THEN listed ELSE [] END AS listed
}
CALL (reached, whole) {
  UNWIND CASE WHEN whole THEN reached ELSE [] END AS x
  RETURN collect(id(x)) AS ids,
         collect(coalesce(
           x.summary,
           CASE WHEN x:Dataset THEN '["dataset","' ELSE '["job","' END + x.key
             + '",["' + replace(replace(x.namespace, '\\', '\\\\'), '"', '\\"') + '","' + replace(replace(x.name, '\\', '\\\\'), '"', '\\"') + '"],'
             + CASE WHEN EXISTS { (x)-[:ALIAS_OF]-() } THEN 'true]' ELSE 'false]' END
         )) AS summaries
}
CALL (whole) {
  UNWIND ['NEW', 'RUNNING'] AS state
  MATCH (r:Run {state: state})
  WHERE r.lastEventAt < $before AND r.streaming IS NULL
  WITH r LIMIT $silent
  RETURN collect(DISTINCT r.job) AS silent
}
CALL (whole) {
  MATCH (o:DeferredWork)
  RETURN count(o) AS deferred
}
RETURN whole, near, far, listed, ids, summaries, silent, deferred
