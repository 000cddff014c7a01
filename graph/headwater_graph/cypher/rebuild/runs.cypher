// Take runs out of their jobs' folds until they are settled again; placeholders go, what names them puts them again.
// parameters: $after, $limit
MATCH (r:Run)
WHERE r.key > $after
WITH r, r.key AS key, r.record IS NULL AS bare ORDER BY key LIMIT $limit
FOREACH (gone IN CASE WHEN bare THEN [r] ELSE [] END | DETACH DELETE gone)
FOREACH (kept IN CASE WHEN bare THEN [] ELSE [r] END | SET kept.moment = null, kept.tie = null)
RETURN max(key) AS next
