// The newest versions of a dataset before a moment, with the job whose run made each and how many runs read it. For a run that
// retention removed, the job is that of the retained version which the run made or was the last run of.
// parameters: dataset, moment, tie, limit
MATCH (v:DatasetVersion)
WHERE v.dataset = $dataset AND v.moment <= $moment AND v.tie IS NOT NULL AND (v.moment < $moment OR v.tie < $tie)
WITH v ORDER BY v.dataset DESC, v.moment DESC, v.tie DESC LIMIT $limit
OPTIONAL MATCH (v)<-[:WROTE]-(:Run)-[:RUN_OF]->(own:Job)
CALL (v, own) {
  WITH v, own WHERE own IS NULL AND v.madeBy IS NOT NULL
  OPTIONAL MATCH (:Dataset {key: $dataset})<-[:HAS_OUTPUT]-(jv:JobVersion)<-[:HAS_VERSION]-(j:Job)
  WHERE v.madeBy IN [jv.madeBy, jv.lastRun, jv.retainedLastRun]
  RETURN j AS retaining LIMIT 1
  UNION
  WITH v, own WHERE own IS NOT NULL OR v.madeBy IS NULL
  RETURN null AS retaining
}
WITH v, coalesce(own, retaining) AS j
RETURN v.id AS id, v.moment AS moment, v.tie AS tie, v.madeBy AS madeBy, j.namespace AS namespace, j.name AS name,
  v.state AS state, v.external AS external, v.schema AS schema, COUNT { (v)-[:READ_BY]->() } AS readers
ORDER BY moment DESC, tie DESC
