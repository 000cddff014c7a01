// Return datasets with their current versions: the latest version that has a moment, if there is any (specification 5.5).
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.key})
  USING INDEX SEEK d:Dataset(key)
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
RETURN collect({namespace: d.namespace, name: d.name, record: d.record, saysDrop: d.saysDrop, retainedRead: d.retainedRead, id: v.id,
                moment: v.moment, madeBy: v.madeBy, text: v.text, external: v.external, drops: v.drops}) AS rows
