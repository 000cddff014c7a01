// Of all datasets what the dump does not show; aliases in one direction.
// parameters: none
MATCH (d:Dataset)
RETURN [d.namespace, d.name] AS key, d.record IS NOT NULL AS told, d.facets AS facets, d.owners AS owners, d.saysDrop AS saysDrop,
       COLLECT { MATCH (d)-[:ALIAS_OF]->(other) RETURN [other.namespace, other.name] } AS aliases
