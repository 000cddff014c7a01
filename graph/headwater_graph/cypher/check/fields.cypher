// Return all fields, and the datasets that they are linked to.
// parameters: none
MATCH (f:Field)
RETURN [f.namespace, f.dataset, f.name] AS path, COLLECT { MATCH (f)-[:FIELD_OF]->(d) RETURN [d.namespace, d.name] } AS of
