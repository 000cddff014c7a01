// The jobs and datasets whose glance is not what they are.
// parameters: none
MATCH (j:Job)
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
WITH j.namespace AS namespace, j.name AS name, j.glance AS glance,
{{fragments/job_summary}}
  AS now
WHERE coalesce(glance, '') <> coalesce(now, '')
RETURN 'job' AS kind, [namespace, name] AS key
UNION ALL
MATCH (d:Dataset)
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
WITH d.namespace AS namespace, d.name AS name, d.glance AS glance,
{{fragments/dataset_summary}}
  AS now
WHERE coalesce(glance, '') <> coalesce(now, '')
RETURN 'dataset' AS kind, [namespace, name] AS key
