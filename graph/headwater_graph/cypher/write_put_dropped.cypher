// Mark datasets as dropped, or not (SPEC 7).
// parameters: $rows [{dataset, dropped?}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
SET d.dropped = row.dropped
