// Runs, the latest first. Absent filters are null; `batch` excludes streaming runs.
// parameters: states, since, until, batch, beforeTime, beforeId, limit
MATCH (r:Run)
WHERE r.lastEventAt IS NOT NULL
  AND ($states IS NULL OR r.state IN $states)
  AND ($since IS NULL OR r.lastEventAt >= $since)
  AND ($until IS NULL OR r.lastEventAt < $until)
  AND (NOT $batch OR r.streaming IS NULL)
  AND ($beforeTime IS NULL OR r.lastEventAt < $beforeTime OR (r.lastEventAt = $beforeTime AND r.id < $beforeId))
WITH r ORDER BY r.lastEventAt DESC, r.id DESC LIMIT $limit
OPTIONAL MATCH (r)-[:RUN_OF]->(j:Job)
RETURN r.id AS id, j.namespace AS namespace, j.name AS name, r.state AS state, r.startedAt AS startedAt,
  r.endedAt AS endedAt, r.lastEventAt AS lastEventAt, r.streaming AS streaming, r.placeholder AS placeholder, r.removed AS removed,
  r.lineageUnknown AS lineageUnknown, r.conflicts AS conflicts
ORDER BY lastEventAt DESC, id DESC
