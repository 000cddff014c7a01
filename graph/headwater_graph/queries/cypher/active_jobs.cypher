// Which of some jobs have had a run, or a version by a JobEvent, that ended at or after a time.
// parameters: keys, since
UNWIND $keys AS key
MATCH (j:Job {key: key})-[:CURRENT]->(v:JobVersion)
WHERE coalesce(v.lastRunAt, v.validFrom) >= $since
RETURN key
