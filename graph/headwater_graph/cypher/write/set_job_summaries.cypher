// Set the summaries of jobs that changed; a row has the key of a job or the id of one of its versions.
// parameters: $rows [{key?, version?}]
UNWIND $rows AS row
OPTIONAL MATCH (named:JobVersion {id: row.version})
  USING INDEX SEEK named:JobVersion(id)
WITH DISTINCT coalesce(row.key, named.job) AS key
MATCH (j:Job {key: key})
  USING INDEX SEEK j:Job(key)
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
WITH j,
{{fragments/job_summary}}
  AS summary
WHERE coalesce(j.summary, '') <> coalesce(summary, '')
SET j.summary = summary
