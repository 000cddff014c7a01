// Upsert runs that a parent facet names; an existing run does not change (specification 2.8).
// parameters: $rows [{key, id}]
UNWIND $rows AS row
MERGE (r:Run {key: row.key})
ON CREATE SET r.id = row.id, r.placeholder = true
