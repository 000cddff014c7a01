// The datasets whose first version was made since a time: namespace and time (microseconds). Only those are examined that were
// written by runs with an event since then.
// parameters: since
MATCH (r:Run)
WHERE r.lastEventAt >= $since
MATCH (r)-[:WROTE]->(made:DatasetVersion)
WITH DISTINCT made.dataset AS dataset
CALL (dataset) {
  MATCH (v:DatasetVersion)
  USING INDEX SEEK v:DatasetVersion(dataset, moment, tie)
  WHERE v.tie IS NOT NULL AND v.dataset = dataset AND v.moment IS NOT NULL
  RETURN v.moment AS first ORDER BY v.dataset, v.moment LIMIT 1
}
WITH dataset, first
WHERE first >= $since.epochSeconds * 1000000
MATCH (d:Dataset {key: dataset})
RETURN d.namespace AS namespace, first
