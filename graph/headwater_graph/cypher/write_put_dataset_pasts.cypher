// Keep which version that nobody made is current, or keep it no longer; `past` is JSON, [time, runId, external or null].
// parameters: $rows [{dataset, past?, version, kept?}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
SET d.past = row.past
WITH row
MATCH (v:DatasetVersion {id: row.version})
SET v.kept = row.kept
