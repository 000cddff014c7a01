// Put jobs: their joined record, and their facets where these changed, with what is read of them.
// parameters: $rows [{key, namespace, name, record, facets?, owners?, streaming?}]
UNWIND $rows AS row
MERGE (j:Job {key: row.key})
SET j.namespace = row.namespace, j.name = row.name, j.record = row.record, j.facets = coalesce(row.facets, j.facets),
    j.owners = CASE WHEN row.facets IS NULL THEN j.owners ELSE row.owners END,
    j.streaming = CASE WHEN row.facets IS NULL THEN j.streaming ELSE row.streaming END
