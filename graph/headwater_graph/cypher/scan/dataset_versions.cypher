// Return all dataset versions, for the dump.
// parameters: none
MATCH (d:Dataset)-[:HAS_VERSION]->(v:DatasetVersion)
RETURN [d.namespace, d.name] AS dataset, v.id AS id, v.moment AS moment, v.madeBy AS madeBy, v.external AS external,
       v.state AS state, v.schema AS schema
