// Jobs that have a batch run which has not ended and of which nothing was heard since a time (specification 2.9).
// parameters: before, limit
MATCH (r:Run)
WHERE r.state IN ['NEW', 'RUNNING'] AND r.lastEventAt < $before AND r.streaming IS NULL
WITH r LIMIT $limit
RETURN collect(DISTINCT r.job) AS keys
