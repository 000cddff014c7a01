// Return all runs that events named, with their records, by key.
// parameters: none
MATCH (r:Run)
WHERE r.key >= '' AND r.record IS NOT NULL
RETURN r.id AS id, r.record AS record ORDER BY r.key
