// The last versioned runs of each job that writes one of some datasets now, at most `limit` of each, the latest first.
// Only the last `window` runs of a job are examined.
// parameters: datasets, failed, limit, window
UNWIND $datasets AS at
MATCH (:Dataset {key: at})<-[:PRODUCES]-(j:Job)
WITH DISTINCT j
CALL (j) {
  MATCH (r:Run)
  WHERE r.job = j.key AND r.moment IS NOT NULL AND r.tie IS NOT NULL
  WITH r ORDER BY r.job DESC, r.moment DESC, r.tie DESC LIMIT $window
  WHERE $failed = r.state IN ['FAIL', 'ABORT']
  RETURN r LIMIT $limit
}
RETURN j.namespace AS namespace, j.name AS name, r.id AS id, r.state AS state, r.lastEventAt AS lastEventAt,
  r.record AS record, r.moment AS moment, r.tie AS tie
ORDER BY namespace, name, moment DESC, tie DESC
