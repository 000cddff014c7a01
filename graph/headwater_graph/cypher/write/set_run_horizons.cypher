// Set the horizon that was valid when runs were first seen: older events are not part of these runs (specification 7).
// parameters: $rows [{key, horizon}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
  USING INDEX SEEK r:Run(key)
SET r.horizon = row.horizon
