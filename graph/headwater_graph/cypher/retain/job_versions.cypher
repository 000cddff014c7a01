// Return the job versions of some jobs that began before the horizon (microseconds since 1970), in their order.
// parameters: $keys, $horizon
UNWIND $keys AS key
MATCH (v:JobVersion)
  USING INDEX SEEK v:JobVersion(job, moment, tie)
WHERE v.tie IS NOT NULL AND v.job = key AND v.moment < $horizon
WITH v, coalesce(v.madeBy, v.text) AS text ORDER BY v.job, v.moment, v.tie, text
RETURN v.job AS job, v.id AS id, v.moment AS moment, text, v.madeBy AS madeBy, v.retainedNumber AS number,
  v.codeMoment AS codeMoment, v.codeTie AS codeTie
