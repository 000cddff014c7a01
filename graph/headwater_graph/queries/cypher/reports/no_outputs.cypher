// Jobs whose current version reads something and writes nothing.
// parameters: limit
MATCH (j:Job)-[:CURRENT]->(v:JobVersion)
WHERE EXISTS { (v)-[:HAS_INPUT]->() } AND NOT EXISTS { (v)-[:HAS_OUTPUT]->() }
RETURN j.namespace AS namespace, j.name AS job, v.validFrom AS since, v.lastRun AS lastRun
ORDER BY namespace, job LIMIT $limit
