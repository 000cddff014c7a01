// Versioned runs of a job before a moment, the last ones.
// parameters: $job, $moment, $tie, $text, $limit
MATCH (n:Run)
WHERE n.job = $job AND n.moment <= $moment
  AND (n.moment < $moment OR n.tie < $tie OR (n.tie = $tie AND n.id < $text))
WITH n ORDER BY n.job DESC, n.moment DESC, n.tie DESC, n.id DESC LIMIT $limit
OPTIONAL MATCH (n)-[:RAN]->(v:JobVersion)
RETURN n.moment AS moment, n.id AS id, n.record AS body, v.id AS version
