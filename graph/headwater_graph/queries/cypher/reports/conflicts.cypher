// Runs whose events name several jobs (specification 2.5), the latest first.
// parameters: limit
MATCH (r:Run) WHERE r.conflicts IS NOT NULL
WITH r ORDER BY r.lastEventAt DESC, r.id LIMIT $limit
OPTIONAL MATCH (r)-[:RUN_OF]->(j:Job)
RETURN j.namespace AS namespace, j.name AS job, r.id AS run, r.conflicts AS conflicts
ORDER BY r.lastEventAt DESC, run
