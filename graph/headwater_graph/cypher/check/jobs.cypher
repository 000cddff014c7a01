// Of all jobs what the dump does not show.
// parameters: none
MATCH (j:Job)
RETURN [j.namespace, j.name] AS key, j.record IS NOT NULL AS told, j.facets AS facets, j.owners AS owners, j.streaming AS streaming,
       COLLECT { MATCH (j)-[:CHILD_OF]->(parent) RETURN [parent.namespace, parent.name] } AS parents
