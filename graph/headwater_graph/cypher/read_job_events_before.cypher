// JobEvents of a job before a moment, the last ones.
// parameters: $job, $moment, $tie, $text, $limit
MATCH (n:JobEvent)
WHERE n.job = $job AND n.moment <= $moment
  AND (n.moment < $moment OR n.tie < $tie OR (n.tie = $tie AND n.text < $text))
WITH n ORDER BY n.job DESC, n.moment DESC, n.tie DESC, n.text DESC LIMIT $limit
RETURN n.moment AS moment, n.text AS id, null AS body, n.version AS version
