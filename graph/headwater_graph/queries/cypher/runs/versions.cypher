// The job versions that some runs ran.
// parameters: keys
UNWIND $keys AS key
MATCH (r:Run {key: key})-[:RAN]->(v:JobVersion)
RETURN r.id AS id, v.id AS version
