// Return what the dump lacks of all datasets: aliases in one direction, `properties` as in `check/jobs`.
// parameters: $properties
MATCH (d:Dataset)
RETURN [d.namespace, d.name] AS key, d.record IS NOT NULL AS recorded, d.facets AS facets, d.saysDrop AS saysDrop,
       [name IN $properties | [name, d[name]]] AS properties,
       COLLECT { MATCH (d)-[:ALIAS_OF]->(other) RETURN [other.namespace, other.name] } AS aliases
