// Remove a page of JobEvents from the folds of their jobs, until the rebuild adds them again.
// parameters: $after, $limit
MATCH (e:JobEvent)
WHERE e.key > $after
WITH e, e.key AS key ORDER BY key LIMIT $limit
SET e.moment = null, e.tie = null, e.version = null
RETURN max(key) AS next
