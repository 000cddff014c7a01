// Set the state of the last run of job versions; a run that is not the last changes nothing (specification 2.6, 3.4).
// parameters: $rows [{version, run, state, streaming?}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.version})
  USING INDEX SEEK v:JobVersion(id)
WHERE v.lastRun = row.run
SET v.lastRunState = row.state, v.lastRunStreaming = row.streaming
