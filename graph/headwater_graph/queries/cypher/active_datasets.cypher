// Which of some datasets are read or written now by a job that has had a run, or a version by a JobEvent, at or after a time.
// parameters: keys, since
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
WHERE EXISTS {
  MATCH (d)-[:FEEDS|PRODUCES]-(:Job)-[:CURRENT]->(v:JobVersion)
  WHERE coalesce(v.lastRunAt, v.validFrom) >= $since
}
RETURN key
