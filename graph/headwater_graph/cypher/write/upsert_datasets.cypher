// Put datasets: their joined record, and their facets where these changed, with what is read of them.
// parameters: $rows [{key, namespace, name, record, saysDrop?, facets?, owners?}]
UNWIND $rows AS row
MERGE (d:Dataset {key: row.key})
SET d.namespace = row.namespace, d.name = row.name, d.record = row.record, d.saysDrop = row.saysDrop,
    d.facets = coalesce(row.facets, d.facets),
    d.owners = CASE WHEN row.facets IS NULL THEN d.owners ELSE row.owners END
