// Put runs that a parent facet names; one that is there stays as it is (specification 2.8).
// parameters: $rows [{key, id}]
UNWIND $rows AS row
MERGE (r:Run {key: row.key})
ON CREATE SET r.id = row.id, r.placeholder = true
