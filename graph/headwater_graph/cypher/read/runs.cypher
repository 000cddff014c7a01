// Return runs with the job versions that they ran.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
  USING INDEX SEEK r:Run(key)
OPTIONAL MATCH (r)-[:RAN]->(v:JobVersion)
RETURN collect({id: r.id, record: r.record, version: v.id, removed: r.removed, horizon: r.horizon}) AS rows
