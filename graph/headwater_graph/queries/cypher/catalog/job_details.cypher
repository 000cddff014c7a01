// Some jobs with their sides, times, facets, last runs and parents, times as microseconds; `created` is that of the first version.
// parameters: keys
UNWIND $keys AS key
MATCH (j:Job {key: key})
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
CALL (j) {
  OPTIONAL MATCH (first:JobVersion)
  WHERE first.job = j.key AND first.moment IS NOT NULL AND first.tie IS NOT NULL
  RETURN first.moment AS created ORDER BY first.job, first.moment, first.tie LIMIT 1
}
RETURN j.key AS key, j.namespace AS namespace, j.name AS name, j.facets AS facets, v.id AS version, v.lastRun AS lastRun,
  v.moment AS since, created,
  COLLECT { MATCH (j)-[:CHILD_OF]->(p:Job) RETURN p.name ORDER BY p.name LIMIT 1 }[0] AS parent,
  COLLECT { MATCH (v)-[:HAS_INPUT]->(d:Dataset) RETURN [d.namespace, d.name] ORDER BY d.namespace, d.name } AS inputs,
  COLLECT { MATCH (v)-[:HAS_OUTPUT]->(d:Dataset) RETURN [d.namespace, d.name] ORDER BY d.namespace, d.name } AS outputs
