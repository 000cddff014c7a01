// Datasets that jobs write now and that no job reads under any of their names.
// parameters: limit
MATCH (d:Dataset)-[:CURRENT]->(v:DatasetVersion)
WHERE EXISTS { (d)<-[:PRODUCES]-() } AND NOT EXISTS { (d)-[:FEEDS]->() } AND d.dropped IS NULL
  AND NOT EXISTS { (d)-[:ALIAS_OF]-()-[:FEEDS]->() }
RETURN d.namespace AS namespace, d.name AS dataset, v.at AS written
ORDER BY namespace, dataset LIMIT $limit
