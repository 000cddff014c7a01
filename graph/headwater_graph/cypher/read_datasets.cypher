// Datasets with their current versions: the latest with a moment, where any has one (SPEC 5.5).
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.key})
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
RETURN d.namespace AS namespace, d.name AS name, d.record AS record, d.saysDrop AS saysDrop, v.id AS id, v.moment AS moment,
       v.madeBy AS madeBy, v.text AS text, v.external AS external, v.drops AS drops
