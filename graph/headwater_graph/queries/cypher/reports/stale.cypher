// Datasets whose newest version was read later than it was written: the times of their newest versions, as microseconds.
// parameters: history, least
MATCH (d:Dataset)-[:CURRENT]->(now:DatasetVersion)-[e:READ_BY]->(:Run)
WHERE now.moment IS NOT NULL
WITH d, now, max(e.moment) AS lastRead
WHERE lastRead > now.moment + $least
CALL (d) {
  MATCH (v:DatasetVersion)
  WHERE v.dataset = d.key AND v.moment IS NOT NULL AND v.tie IS NOT NULL
  RETURN v.moment AS moment ORDER BY v.dataset DESC, v.moment DESC, v.tie DESC LIMIT $history
}
WITH d, lastRead, collect(moment) AS moments
RETURN d.namespace AS namespace, d.name AS dataset, lastRead, moments
ORDER BY namespace, dataset
