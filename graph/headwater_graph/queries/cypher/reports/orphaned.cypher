// Datasets that jobs read now, that a run once wrote, and that no job writes any more.
// parameters: limit
MATCH (d:Dataset)-[:CURRENT]->(v:DatasetVersion)
WHERE v.madeBy IS NOT NULL AND EXISTS { (d)-[:FEEDS]->() } AND NOT EXISTS { (d)<-[:PRODUCES]-() }
RETURN d.namespace AS namespace, d.name AS dataset, v.at AS written
ORDER BY namespace, dataset LIMIT $limit
