// Keep which version that nobody made is current, or keep it no longer; `past` is JSON, [time, runId, external or null].
// parameters: $rows [{dataset, past?, version, kept?}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
  USING INDEX SEEK d:Dataset(key)
SET d.past = row.past
WITH row
MATCH (v:DatasetVersion {id: row.version})
  USING INDEX SEEK v:DatasetVersion(id)
SET v.kept = row.kept
