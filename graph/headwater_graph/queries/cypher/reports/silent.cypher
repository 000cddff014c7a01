// Batch runs that have not ended and have had no event since a time (specification 2.9), the longest silent first.
// parameters: before, limit
MATCH (r:Run)
WHERE r.state IN ['NEW', 'RUNNING'] AND r.lastEventAt < $before AND r.streaming IS NULL
WITH r ORDER BY r.lastEventAt, r.id LIMIT $limit
OPTIONAL MATCH (r)-[:RUN_OF]->(j:Job)
RETURN j.namespace AS namespace, j.name AS job, r.id AS run, r.lastEventAt AS heard
ORDER BY heard, run
