// The status of some jobs, as lists: key, current version, its moment (microseconds), whether its lineage is unknown, code
// version, number of runs, the last run, its time (microseconds), its state, whether it is a streaming job, owners.
// parameters: keys
UNWIND $keys AS key
MATCH (j:Job {key: key})
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
RETURN collect([
  key, v.id, v.moment, v.lineageUnknown, v.codeVersion, v.runs, v.lastRun,
  v.lastRunAt.epochMillis * 1000 + v.lastRunAt.microsecond % 1000, v.lastRunState, v.lastRunStreaming OR j.streaming, j.owners
]) AS status
