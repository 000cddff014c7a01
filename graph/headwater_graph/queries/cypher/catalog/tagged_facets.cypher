// The facets of jobs and datasets that have a facet `tags`, as JSON text.
// parameters: rows
CALL () {
  MATCH (n:Dataset) WHERE n.facets CONTAINS '"tags"' RETURN n.facets AS facets LIMIT $rows
  UNION ALL
  MATCH (n:Job) WHERE n.facets CONTAINS '"tags"' RETURN n.facets AS facets LIMIT $rows
}
RETURN facets
