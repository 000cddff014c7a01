// A page of the DatasetEvents that made a version, by the id of that version.
// parameters: after, limit
MATCH (v:DatasetVersion)
WHERE v.id > $after AND v.text IS NOT NULL
RETURN v.id AS key, v.text AS text
ORDER BY key LIMIT $limit
