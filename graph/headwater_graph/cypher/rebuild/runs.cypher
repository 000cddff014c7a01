// Remove a page of runs from the folds of their jobs, until the rebuild adds them again; delete placeholders.
// parameters: $after, $limit
MATCH (r:Run)
WHERE r.key > $after
WITH r, r.key AS key, r.record IS NULL AS removable ORDER BY key LIMIT $limit
FOREACH (removed IN CASE WHEN removable THEN [r] ELSE [] END | DETACH DELETE removed)
FOREACH (remaining IN CASE WHEN removable THEN [] ELSE [r] END | SET remaining.moment = null, remaining.tie = null)
RETURN max(key) AS next
