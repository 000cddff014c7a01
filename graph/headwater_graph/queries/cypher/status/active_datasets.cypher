// Those of some datasets that an active job (status/active_jobs) reads or writes now.
// parameters: keys, since
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
WHERE EXISTS {
  MATCH (d)-[:FEEDS|PRODUCES]-(:Job)-[:CURRENT]->(v:JobVersion)
  WHERE coalesce(v.lastRunAt, v.validFrom) >= $since
}
RETURN key
