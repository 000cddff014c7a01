// The newest versions of a dataset before a moment, with the job whose run made each and how many runs read it.
// parameters: dataset, moment, tie, limit
MATCH (v:DatasetVersion)
WHERE v.dataset = $dataset AND v.moment <= $moment AND v.tie IS NOT NULL AND (v.moment < $moment OR v.tie < $tie)
WITH v ORDER BY v.dataset DESC, v.moment DESC, v.tie DESC LIMIT $limit
OPTIONAL MATCH (v)<-[:WROTE]-(:Run)-[:RUN_OF]->(j:Job)
RETURN v.id AS id, v.moment AS moment, v.tie AS tie, v.madeBy AS madeBy, j.namespace AS namespace, j.name AS name,
  v.state AS state, v.external AS external, v.schema AS schema, COUNT { (v)-[:READ_BY]->() } AS readers
ORDER BY moment DESC, tie DESC
