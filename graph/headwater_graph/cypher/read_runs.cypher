// Runs with the job versions they are in.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
OPTIONAL MATCH (r)-[:RAN]->(v:JobVersion)
RETURN r.id AS id, r.record AS record, v.id AS version
