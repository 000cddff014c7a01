// Set the summaries of datasets that changed; a row has the key of a dataset or the id of one of its versions.
// parameters: $rows [{key?, version?}]
UNWIND $rows AS row
OPTIONAL MATCH (named:DatasetVersion {id: row.version})
  USING INDEX SEEK named:DatasetVersion(id)
WITH DISTINCT coalesce(row.key, named.dataset) AS key
MATCH (d:Dataset {key: key})
  USING INDEX SEEK d:Dataset(key)
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
WITH d,
{{fragments/dataset_summary}}
  AS summary
WHERE coalesce(d.summary, '') <> coalesce(summary, '')
SET d.summary = summary
