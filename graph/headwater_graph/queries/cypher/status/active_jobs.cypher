// Those of some jobs of which a run has ended, or a JobEvent made the current version, at or after a time.
// parameters: keys, since
UNWIND $keys AS key
MATCH (j:Job {key: key})-[:CURRENT]->(v:JobVersion)
WHERE coalesce(v.lastRunAt, v.validFrom) >= $since
RETURN key
