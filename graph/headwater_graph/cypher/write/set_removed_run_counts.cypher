// Set the counts of job versions whose runs are removed: retained versions still count them and store the last of them. The state
// of a removed last run is unknown.
// parameters: $rows [{id, runs, lastRun, lastMoment}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.runs = CASE WHEN v.retainedNumber IS NULL THEN v.runs - row.runs ELSE v.runs END,
    v.lastRunState = CASE WHEN v.lastRun = row.lastRun THEN null ELSE v.lastRunState END,
    v.lastRunStreaming = CASE WHEN v.lastRun = row.lastRun THEN null ELSE v.lastRunStreaming END,
    v.retainedRuns = CASE WHEN v.retainedNumber IS NULL THEN null ELSE v.retainedRuns + row.runs END
WITH row, v
WHERE v.retainedNumber IS NOT NULL AND (v.retainedLastMoment IS NULL OR v.retainedLastMoment < row.lastMoment
      OR (v.retainedLastMoment = row.lastMoment AND v.retainedLastRun < row.lastRun))
SET v.retainedLastRun = row.lastRun, v.retainedLastMoment = row.lastMoment
