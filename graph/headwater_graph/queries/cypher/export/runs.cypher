// A page of runs with their records, in the order of their last events: those at `time` that are not among
// `seen`, and later ones.
// parameters: time, seen, limit
MATCH (r:Run)
WHERE r.lastEventAt >= $time AND NOT r.id IN $seen AND r.record IS NOT NULL
RETURN r.id AS id, r.lastEventAt AS time, r.record AS record
ORDER BY time LIMIT $limit
