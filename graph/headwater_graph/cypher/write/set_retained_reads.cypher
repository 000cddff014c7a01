// Set or reset which version without a maker is retained as current; `retainedRead` is JSON, [time, runId, external or null].
// parameters: $rows [{dataset, retainedRead?, version, retained?}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
  USING INDEX SEEK d:Dataset(key)
SET d.retainedRead = row.retainedRead
WITH row
MATCH (v:DatasetVersion {id: row.version})
  USING INDEX SEEK v:DatasetVersion(id)
SET v.retained = row.retained
