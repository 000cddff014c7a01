// A page of JobEvents by key, of one job or, where it is null, of all.
// parameters: job, after, limit
MATCH (e:JobEvent)
WHERE e.key > $after AND ($job IS NULL OR e.job = $job)
RETURN e.key AS key, e.text AS text
ORDER BY key LIMIT $limit
