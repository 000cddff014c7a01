// The dataset versions that a run read.
// parameters: key
MATCH (r:Run {key: $key})
MATCH (v:DatasetVersion)-[:READ_BY]->(r)
MATCH (d:Dataset {key: v.dataset})
RETURN d.namespace AS namespace, d.name AS name, v.id AS version, v.madeBy AS madeBy, v.at AS at,
  v.external AS external, v.schema AS schema
ORDER BY namespace, name
