// Upsert datasets that an alias names; an existing dataset does not change (specification 1.7, 6.7).
// parameters: $rows [{key, namespace, name}]
UNWIND $rows AS row
MERGE (d:Dataset {key: row.key})
ON CREATE SET d.namespace = row.namespace, d.name = row.name, d.facets = '{}'
