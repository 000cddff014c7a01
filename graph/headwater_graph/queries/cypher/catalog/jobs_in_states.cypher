// A page of the jobs whose last run has one of some states, of a namespace, or of all where it is null, by name; `total` is how
// many there are. `open` has the state and the time in milliseconds of the last open run of jobs, by their keys.
// parameters: namespace, states, open, offset, limit
MATCH (j:Job) WHERE $namespace IS NULL OR j.namespace = $namespace
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
WITH j, v, $open[j.key] AS run
WITH j, CASE WHEN run IS NULL OR v.lastRunAt.epochMillis > run[1] THEN v.lastRunState ELSE run[0] END AS state
WHERE state IN $states
WITH j ORDER BY j.name, j.namespace
WITH collect(j) AS jobs
UNWIND jobs[$offset..$offset + $limit] AS j
RETURN j.key AS key, j.namespace AS namespace, j.name AS name, size(jobs) AS total
