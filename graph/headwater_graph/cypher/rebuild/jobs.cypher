// Reset the fold states of a page of jobs; delete jobs without a record, which only parent facets name.
// parameters: $after, $limit
MATCH (j:Job)
WHERE j.key > $after
WITH j, j.key AS key, j.record IS NULL AS removable ORDER BY key LIMIT $limit
FOREACH (removed IN CASE WHEN removable THEN [j] ELSE [] END | DETACH DELETE removed)
FOREACH (remaining IN CASE WHEN removable THEN [] ELSE [j] END | SET remaining.fold = null)
RETURN max(key) AS next
