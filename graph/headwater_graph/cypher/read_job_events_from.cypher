// JobEvents of a job at or after a moment, the first ones.
// parameters: $job, $moment, $tie, $text, $limit
MATCH (n:JobEvent)
WHERE n.job = $job AND n.moment >= $moment
  AND (n.moment > $moment OR n.tie > $tie OR (n.tie = $tie AND n.text >= $text))
WITH n ORDER BY n.job, n.moment, n.tie, n.text LIMIT $limit
RETURN n.moment AS moment, n.text AS id, null AS body, n.version AS version
