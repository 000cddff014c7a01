// Delete a page of dataset versions; those with a DatasetEvent remain, without a moment until the rebuild sets it.
// parameters: $after, $limit
MATCH (v:DatasetVersion)
WHERE v.id > $after
WITH v, v.id AS id, v.text IS NULL AND v.retained IS NULL AS removable ORDER BY id LIMIT $limit
FOREACH (removed IN CASE WHEN removable THEN [v] ELSE [] END | DETACH DELETE removed)
FOREACH (remaining IN CASE WHEN removable THEN [] ELSE [v] END | SET remaining.moment = CASE remaining.retained WHEN true THEN remaining.moment ELSE null END)
RETURN max(id) AS next
