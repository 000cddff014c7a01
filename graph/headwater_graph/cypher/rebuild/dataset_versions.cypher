// Cut dataset versions; those that hold a DatasetEvent stay, out of every order, until they are settled again.
// parameters: $after, $limit
MATCH (v:DatasetVersion)
WHERE v.id > $after
WITH v, v.id AS id, v.text IS NULL AND v.retained IS NULL AS bare ORDER BY id LIMIT $limit
FOREACH (gone IN CASE WHEN bare THEN [v] ELSE [] END | DETACH DELETE gone)
FOREACH (kept IN CASE WHEN bare THEN [] ELSE [v] END | SET kept.moment = CASE kept.retained WHEN true THEN kept.moment ELSE null END)
RETURN max(id) AS next
