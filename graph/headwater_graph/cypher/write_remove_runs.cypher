// Remove runs.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
DETACH DELETE r
