// A page of datasets by key, with their records.
// parameters: after, limit
MATCH (d:Dataset)
WHERE d.key > $after AND d.record IS NOT NULL
RETURN d.key AS key, d.namespace AS namespace, d.name AS name, d.record AS record
ORDER BY key LIMIT $limit
