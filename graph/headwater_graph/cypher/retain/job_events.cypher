// Return the JobEvents of some jobs before the horizon (microseconds since 1970).
// parameters: $keys, $horizon, $limit
UNWIND $keys AS key
MATCH (e:JobEvent)
  USING INDEX SEEK e:JobEvent(job, moment, tie)
WHERE e.tie IS NOT NULL AND e.job = key AND e.moment < $horizon
RETURN e.key AS key, e.moment AS moment, e.text AS text LIMIT $limit
