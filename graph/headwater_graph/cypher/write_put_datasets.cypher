// Put datasets: their joined record, and their facets where these changed.
// parameters: $rows [{key, namespace, name, record, saysDrop?, facets?}]
UNWIND $rows AS row
MERGE (d:Dataset {key: row.key})
SET d.namespace = row.namespace, d.name = row.name, d.record = row.record, d.saysDrop = row.saysDrop,
    d.facets = coalesce(row.facets, d.facets)
