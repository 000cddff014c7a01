// Return a page of jobs, by key.
// parameters: $after, $limit
MATCH (j:Job)
WHERE j.key > $after
RETURN j.key AS key, j.namespace AS namespace, j.name AS name ORDER BY key LIMIT $limit
