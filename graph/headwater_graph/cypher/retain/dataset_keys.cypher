// Return a page of datasets, by key.
// parameters: $after, $limit
MATCH (d:Dataset)
WHERE d.key > $after
RETURN d.key AS key, d.namespace AS namespace, d.name AS name ORDER BY key LIMIT $limit
