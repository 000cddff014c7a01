// All runs that events named, by key, with what was told of them.
// parameters: none
MATCH (r:Run)
WHERE r.key >= '' AND r.record IS NOT NULL
RETURN r.id AS id, r.record AS record ORDER BY r.key
