// The newest versions of a job without the first `skip`, with their sides, times as microseconds.
// parameters: job, skip, limit
MATCH (v:JobVersion)
WHERE v.job = $job AND v.moment IS NOT NULL AND v.tie IS NOT NULL
WITH v ORDER BY v.job DESC, v.moment DESC, v.tie DESC SKIP $skip LIMIT $limit
RETURN v.id AS id, v.moment AS since, v.validTo AS until, v.madeBy AS madeBy, v.codeVersion AS codeVersion,
  v.lineageUnknown AS lineageUnknown, v.runs AS runs, v.lastRun AS lastRun,
  COLLECT { MATCH (v)-[:HAS_INPUT]->(d:Dataset) RETURN [d.namespace, d.name] ORDER BY d.namespace, d.name } AS inputs,
  COLLECT { MATCH (v)-[:HAS_OUTPUT]->(d:Dataset) RETURN [d.namespace, d.name] ORDER BY d.namespace, d.name } AS outputs
ORDER BY since DESC, v.tie DESC
