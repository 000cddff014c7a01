// Jobs with a batch run that has not ended and has had no event since a time (specification 2.9).
// parameters: before, limit
MATCH (r:Run)
WHERE r.state IN ['NEW', 'RUNNING'] AND r.lastEventAt < $before AND r.streaming IS NULL
WITH r LIMIT $limit
RETURN collect(DISTINCT r.job) AS keys
