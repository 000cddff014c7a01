// What one wants to know of some jobs at a glance, as lists: key, current version, its moment (microseconds), whether its
// lineage is unknown, code version, how many runs, the last run, its time (microseconds), its state, whether it streams;
// facets only where they can tell of streaming or owners.
// parameters: keys
UNWIND $keys AS key
MATCH (j:Job {key: key})
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
RETURN collect([
  key, v.id, v.moment, v.lineageUnknown, v.codeVersion, v.runs, v.lastRun,
  v.lastRunAt.epochSeconds * 1000000 + v.lastRunAt.microsecond, v.lastRunState, v.lastRunStreaming,
  CASE WHEN j.facets CONTAINS '"ownership"' OR j.facets CONTAINS '"STREAMING"' OR j.facets CONTAINS '"SERVICE"' THEN j.facets END
]) AS marks
