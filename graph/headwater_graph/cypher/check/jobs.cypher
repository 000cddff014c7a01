// Return what the dump lacks of all jobs; `properties` are those that follow from the facets, as [name, value].
// parameters: $properties
MATCH (j:Job)
RETURN [j.namespace, j.name] AS key, j.record IS NOT NULL AS recorded, j.facets AS facets,
       [name IN $properties | [name, j[name]]] AS properties,
       COLLECT { MATCH (j)-[:CHILD_OF]->(parent) RETURN [parent.namespace, parent.name] } AS parents
