// Datasets that jobs read now, and of which neither a run nor an event ever made a version, under any of their names.
// parameters: limit
MATCH (d:Dataset)
WHERE EXISTS { (d)-[:FEEDS]->() } AND NOT EXISTS { (d)<-[:PRODUCES]-() } AND NOT EXISTS { (d)-[:ALIAS_OF]-() }
  AND NOT EXISTS { MATCH (d)-[:HAS_VERSION]->(v:DatasetVersion) WHERE v.moment IS NOT NULL }
RETURN d.namespace AS namespace, d.name AS dataset
ORDER BY namespace, dataset LIMIT $limit
