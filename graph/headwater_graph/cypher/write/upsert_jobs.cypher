// Upsert jobs: the merged record, and where the facets changed, the properties that follow from them (null: absent).
// parameters: $rows [{key, namespace, name, record, properties?}]
UNWIND $rows AS row
MERGE (j:Job {key: row.key})
SET j.namespace = row.namespace, j.name = row.name, j.record = row.record, j += coalesce(row.properties, {})
