// Return the jobs and datasets whose summary differs from what it is computed from.
// parameters: none
MATCH (j:Job)
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
WITH j.namespace AS namespace, j.name AS name, j.summary AS summary,
{{fragments/job_summary}}
  AS expected
WHERE coalesce(summary, '') <> coalesce(expected, '')
RETURN 'job' AS kind, [namespace, name] AS key
UNION ALL
MATCH (d:Dataset)
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
WITH d.namespace AS namespace, d.name AS name, d.summary AS summary,
{{fragments/dataset_summary}}
  AS expected
WHERE coalesce(summary, '') <> coalesce(expected, '')
RETURN 'dataset' AS kind, [namespace, name] AS key
