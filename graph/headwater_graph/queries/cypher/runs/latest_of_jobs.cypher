// The latest versioned runs of some jobs, at most `limit` of each.
// parameters: keys, limit
UNWIND $keys AS at
CALL (at) {
  MATCH (r:Run)
  WHERE r.job = at AND r.moment IS NOT NULL AND r.tie IS NOT NULL
  RETURN r ORDER BY r.job DESC, r.moment DESC, r.tie DESC LIMIT $limit
}
RETURN at, r.id AS id, r.state AS state, r.startedAt AS startedAt, r.endedAt AS endedAt, r.lastEventAt AS lastEventAt
