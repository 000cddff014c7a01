// Jobs whose current version has no lineage of its own (specification 3.1, 4).
// parameters: limit
MATCH (j:Job)-[:CURRENT]->(v:JobVersion)
WHERE v.lineageUnknown
RETURN j.namespace AS namespace, j.name AS job, v.validFrom AS since, v.lastRun AS lastRun
ORDER BY namespace, job LIMIT $limit
