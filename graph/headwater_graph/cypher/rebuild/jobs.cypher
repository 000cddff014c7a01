// Forget what the current edges of jobs stood on; jobs that only parent facets name go, what names them puts them again.
// parameters: $after, $limit
MATCH (j:Job)
WHERE j.key > $after
WITH j, j.key AS key, j.record IS NULL AS bare ORDER BY key LIMIT $limit
FOREACH (gone IN CASE WHEN bare THEN [j] ELSE [] END | DETACH DELETE gone)
FOREACH (kept IN CASE WHEN bare THEN [] ELSE [j] END | SET kept.fold = null)
RETURN max(key) AS next
