// Forget which datasets are dropped; those that only aliases name go, what names them puts them again.
// parameters: $after, $limit
MATCH (d:Dataset)
WHERE d.key > $after
WITH d, d.key AS key, d.record IS NULL AS bare ORDER BY key LIMIT $limit
FOREACH (gone IN CASE WHEN bare THEN [d] ELSE [] END | DETACH DELETE gone)
FOREACH (kept IN CASE WHEN bare THEN [] ELSE [d] END | SET kept.dropped = null)
RETURN max(key) AS next
