// As status/jobs, as of a time: the job version that was valid then, without its runs.
// parameters: keys, time
UNWIND $keys AS key
MATCH (j:Job {key: key})
OPTIONAL MATCH (j)-[:HAS_VERSION]->(v:JobVersion)
WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo)
RETURN collect([
  key, v.id, v.moment, v.lineageUnknown, v.codeVersion, null, null, null, null, j.streaming, j.owners
]) AS status
