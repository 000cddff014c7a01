// Some datasets with their facets, current versions and schemas, times as microseconds.
// parameters: keys
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
RETURN d.key AS key, d.namespace AS namespace, d.name AS name, d.facets AS facets, d.dropped AS dropped,
  v.id AS version, v.moment AS written, v.schema AS schema
