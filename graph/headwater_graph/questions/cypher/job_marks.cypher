// What one wants to know of some jobs at a glance, times as microseconds; facets only where they can tell of streaming or owners.
// parameters: keys
UNWIND $keys AS key
MATCH (j:Job {key: key})
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
RETURN collect({
  key: key,
  version: v.id,
  since: v.moment,
  lineageUnknown: v.lineageUnknown,
  codeVersion: v.codeVersion,
  runs: v.runs,
  lastRun: v.lastRun,
  lastRunAt: v.lastRunAt.epochSeconds * 1000000 + v.lastRunAt.microsecond,
  facets: CASE WHEN j.facets CONTAINS '"jobType"' OR j.facets CONTAINS '"ownership"' THEN j.facets END
}) AS rows
