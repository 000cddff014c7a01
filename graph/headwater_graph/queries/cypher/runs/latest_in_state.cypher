// Runs in one state whose last event is before a time, the latest first; `batch` excludes streaming runs.
// parameters: state, until, batch, limit
MATCH (r:Run)
WHERE r.state = $state AND r.lastEventAt < $until AND (NOT $batch OR r.streaming IS NULL)
WITH r ORDER BY r.state DESC, r.lastEventAt DESC, r.id DESC LIMIT $limit
OPTIONAL MATCH (r)-[:RUN_OF]->(j:Job)
RETURN r.id AS id, j.namespace AS namespace, j.name AS name, r.state AS state, r.startedAt AS startedAt,
  r.endedAt AS endedAt, r.lastEventAt AS lastEventAt, r.streaming AS streaming, r.placeholder AS placeholder, r.removed AS removed,
  r.lineageUnknown AS lineageUnknown, r.conflicts AS conflicts
ORDER BY lastEventAt DESC, id DESC
