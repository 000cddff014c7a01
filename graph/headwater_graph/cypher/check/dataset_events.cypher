// Return all DatasetEvents that made a version.
// parameters: none
MATCH (v:DatasetVersion)
WHERE v.text IS NOT NULL
RETURN v.text AS text
