// Upsert fields, and link them to those datasets that have a node.
// parameters: $rows [{key, of, namespace, dataset, name}]
UNWIND $rows AS row
MERGE (f:Field {key: row.key})
ON CREATE SET f.of = row.of, f.namespace = row.namespace, f.dataset = row.dataset, f.name = row.name
WITH row, f
WHERE NOT EXISTS { (f)-[:FIELD_OF]->() }
MATCH (d:Dataset {key: row.of})
  USING INDEX SEEK d:Dataset(key)
CREATE (f)-[:FIELD_OF]->(d)
