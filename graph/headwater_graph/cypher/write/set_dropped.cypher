// Set whether datasets are dropped (specification 7).
// parameters: $rows [{dataset, dropped?}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
  USING INDEX SEEK d:Dataset(key)
SET d.dropped = row.dropped
