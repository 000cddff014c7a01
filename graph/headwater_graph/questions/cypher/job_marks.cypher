// What one wants to know of some jobs at a glance, times as microseconds; facets only where they can tell of streaming or owners.
// parameters: keys
UNWIND $keys AS key
MATCH (j:Job {key: key})
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
RETURN key, v.id AS version, v.moment AS since, v.lineageUnknown AS lineageUnknown, v.codeVersion AS codeVersion,
  v.runs AS runs, v.lastRun AS lastRun, 
  v.lastRunAt.epochSeconds * 1000000 + v.lastRunAt.microsecond AS lastRunAt,
  CASE WHEN j.facets CONTAINS '"jobType"' OR j.facets CONTAINS '"ownership"' THEN j.facets END AS facets
