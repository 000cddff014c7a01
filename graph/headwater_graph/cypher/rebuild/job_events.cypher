// Take JobEvents out of their jobs' folds until they are settled again.
// parameters: $after, $limit
MATCH (e:JobEvent)
WHERE e.key > $after
WITH e, e.key AS key ORDER BY key LIMIT $limit
SET e.moment = null, e.tie = null, e.version = null
RETURN max(key) AS next
