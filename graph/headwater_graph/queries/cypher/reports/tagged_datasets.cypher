// The datasets whose facets contain a facet `tags` and, unless it is null, a text; with their facets as JSON.
// parameters: text, rows
MATCH (d:Dataset)
WHERE d.facets CONTAINS '"tags"' AND ($text IS NULL OR d.facets CONTAINS $text)
RETURN d.key AS key, d.namespace AS namespace, d.name AS name, d.facets AS facets
ORDER BY namespace, name LIMIT $rows
