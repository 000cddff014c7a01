// Runs with records whose last event lies in a time, the earliest event first; absent times are null.
// parameters: after, before, skip, limit
MATCH (r:Run)
WHERE r.lastEventAt >= coalesce($after, datetime('0001-01-01T00:00:00Z'))
  AND r.lastEventAt < coalesce($before, datetime('9999-12-31T23:59:59.999999999Z')) AND r.record IS NOT NULL
WITH r ORDER BY r.lastEventAt SKIP $skip LIMIT $limit
RETURN r.id AS id, r.record AS record
