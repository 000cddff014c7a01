// Some jobs with their sides, times, facets and last runs, times as microseconds.
// parameters: keys
UNWIND $keys AS key
MATCH (j:Job {key: key})
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
RETURN j.key AS key, j.namespace AS namespace, j.name AS name, j.facets AS facets, v.id AS version, v.lastRun AS lastRun,
  v.moment AS since,
  COLLECT { MATCH (v)-[:HAS_INPUT]->(d:Dataset) RETURN [d.namespace, d.name] ORDER BY d.namespace, d.name } AS inputs,
  COLLECT { MATCH (v)-[:HAS_OUTPUT]->(d:Dataset) RETURN [d.namespace, d.name] ORDER BY d.namespace, d.name } AS outputs
