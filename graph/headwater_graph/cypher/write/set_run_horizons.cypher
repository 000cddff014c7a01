// Say which horizon runs were first heard of behind: nothing older is theirs (specification 7).
// parameters: $rows [{key, horizon}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
  USING INDEX SEEK r:Run(key)
SET r.horizon = row.horizon
