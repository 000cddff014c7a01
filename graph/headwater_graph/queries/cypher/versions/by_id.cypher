// One dataset version.
// parameters: id
MATCH (v:DatasetVersion {id: $id})
MATCH (d:Dataset {key: v.dataset})
RETURN d.namespace AS namespace, d.name AS name, v.id AS version, v.madeBy AS madeBy, v.at AS at,
  v.external AS external, v.schema AS schema
LIMIT 1
