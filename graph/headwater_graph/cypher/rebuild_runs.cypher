// Take runs out of their jobs' folds until they are settled again; placeholders go, what names them puts them again.
// parameters: $after, $limit
MATCH (r:Run)
WHERE r.key > $after
WITH r, r.key AS key ORDER BY key LIMIT $limit
FOREACH (gone IN CASE WHEN r.record IS NULL THEN [r] ELSE [] END | DETACH DELETE gone)
FOREACH (kept IN CASE WHEN r.record IS NULL THEN [] ELSE [r] END | SET kept.moment = null, kept.tie = null)
RETURN max(key) AS next
