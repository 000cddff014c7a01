// How many versions a job has.
// parameters: job
MATCH (v:JobVersion)
WHERE v.job = $job AND v.moment IS NOT NULL AND v.tie IS NOT NULL
RETURN count(v) AS total
