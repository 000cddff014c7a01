// What one wants to know of some jobs as of a time; facets only where they can tell of streaming or owners.
// parameters: keys, time
UNWIND $keys AS key
MATCH (j:Job {key: key})
OPTIONAL MATCH (j)-[:HAS_VERSION]->(v:JobVersion)
WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo)
RETURN collect({
  key: key,
  version: v.id,
  since: v.moment,
  lineageUnknown: v.lineageUnknown,
  codeVersion: v.codeVersion,
  runs: null,
  lastRun: null,
  lastRunAt: null,
  facets: CASE WHEN j.facets CONTAINS '"jobType"' OR j.facets CONTAINS '"ownership"' THEN j.facets END
}) AS rows
