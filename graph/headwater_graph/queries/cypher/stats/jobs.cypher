// The jobs whose first version began since a time: namespace and time (microseconds). Only jobs of runs with an event since then
// are examined.
// parameters: since
MATCH (r:Run)
WHERE r.lastEventAt >= $since
WITH DISTINCT r.job AS job
CALL (job) {
  MATCH (v:JobVersion)
  USING INDEX SEEK v:JobVersion(job, moment, tie)
  WHERE v.tie IS NOT NULL AND v.job = job AND v.moment IS NOT NULL
  RETURN v.moment AS first ORDER BY v.job, v.moment LIMIT 1
}
WITH job, first
WHERE first >= $since.epochSeconds * 1000000
MATCH (j:Job {key: job})
RETURN j.namespace AS namespace, first
