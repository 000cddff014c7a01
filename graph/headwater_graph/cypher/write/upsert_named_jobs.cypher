// Upsert jobs that a parent facet names; an existing job does not change (specification 1.7).
// parameters: $rows [{key, namespace, name}]
UNWIND $rows AS row
MERGE (j:Job {key: row.key})
ON CREATE SET j.namespace = row.namespace, j.name = row.name, j.facets = '{}'
