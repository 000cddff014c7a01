// Upsert datasets: the merged record, and where the facets changed, the properties that follow from them (null: absent).
// parameters: $rows [{key, namespace, name, record, saysDrop?, properties?}]
UNWIND $rows AS row
MERGE (d:Dataset {key: row.key})
SET d.namespace = row.namespace, d.name = row.name, d.record = row.record, d.saysDrop = row.saysDrop,
    d += coalesce(row.properties, {})
