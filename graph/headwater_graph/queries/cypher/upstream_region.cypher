// All within reach of a dataset or job upstream, each node once, the nearest ones first where `nodes` are not enough: how
// they lie (current edges by ids that hold within the answer, `listed` are those that list inputs, specification 6.6; nothing of it,
// and not `whole`, where there are `rows` edges), their summaries (node_summary.py; only the names of a node without one), which jobs
// have silent runs, and how much work is owed.
// The length of a way is put in behind `*0..`: Cypher takes no parameter there.
// parameters: key, nodes, rows, before, silent
OPTIONAL MATCH (d:Dataset {key: $key})
OPTIONAL MATCH (j:Job {key: $key})
WITH coalesce(d, j) AS start
CALL (start) {
  MATCH (start)<-[:FEEDS|PRODUCES*0..]-(x)
  RETURN DISTINCT x LIMIT $nodes
}
WITH collect(x) AS reached
CALL (reached) {
  UNWIND reached AS x
  MATCH (x)<-[e:FEEDS|PRODUCES]-(y)
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
  RETURN count(o) AS owed
}
RETURN whole, near, far, listed, ids, summaries, silent, owed
