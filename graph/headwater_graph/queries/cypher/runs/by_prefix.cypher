// Runs whose id begins with a text.
// parameters: prefix, limit
MATCH (r:Run) WHERE r.id STARTS WITH $prefix
RETURN r.key AS key, r.id AS id
ORDER BY r.id LIMIT $limit
