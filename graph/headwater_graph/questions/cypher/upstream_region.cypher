// All within reach of a dataset or job upstream, each node once, the nearest ones first where `nodes` are not enough: how
// they lie (current edges by ids that hold within the answer, `listed` are those that list inputs, SPEC 6.6; nothing of it,
// and not `whole`, where there are `rows` edges). What marks them is told by upstream_region_marks, beside it.
// The length of a way is put in behind `*0..`: Cypher takes no parameter there.
// parameters: key, nodes, rows
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
  RETURN collect(id(x)) AS ids, collect(x.key) AS keys, collect(x.namespace) AS namespaces, collect(x.name) AS names,
         collect(CASE WHEN EXISTS { (x)-[:ALIAS_OF]-() } THEN x.key END) AS aliased
}
RETURN whole, near, far, listed, ids, keys, namespaces, names, aliased
