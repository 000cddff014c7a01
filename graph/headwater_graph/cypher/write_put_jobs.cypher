// Put jobs: their joined record, and their facets where these changed.
// parameters: $rows [{key, namespace, name, record, facets?}]
UNWIND $rows AS row
MERGE (j:Job {key: row.key})
SET j.namespace = row.namespace, j.name = row.name, j.record = row.record, j.facets = coalesce(row.facets, j.facets)
