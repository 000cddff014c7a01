// Reset a page of datasets to not dropped; delete those without a record, which only aliases name.
// parameters: $after, $limit
MATCH (d:Dataset)
WHERE d.key > $after
WITH d, d.key AS key, d.record IS NULL AS removable ORDER BY key LIMIT $limit
FOREACH (removed IN CASE WHEN removable THEN [d] ELSE [] END | DETACH DELETE removed)
FOREACH (remaining IN CASE WHEN removable THEN [] ELSE [d] END | SET remaining.dropped = null)
RETURN max(key) AS next
