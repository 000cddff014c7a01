// Return the dataset versions that retention retained after it removed the run that made them.
// parameters: none
MATCH (v:DatasetVersion)
WHERE v.retained = true
MATCH (d:Dataset {key: v.dataset})
RETURN [d.namespace, d.name] AS dataset, v.id AS id, v.moment AS moment, v.madeBy AS madeBy, v.external AS external,
       v.state AS state, v.schema AS schema, v.drops AS drops, v.text AS text
