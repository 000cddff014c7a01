// Count runs that are being removed: versions that are kept go on counting them and say which was the last; others forget them.
// parameters: $rows [{id, runs, lastRun, lastMoment}]
// Of a last run that goes nobody knows how it stood.
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.runs = CASE WHEN v.keptNumber IS NULL THEN v.runs - row.runs ELSE v.runs END,
    v.lastRunState = CASE WHEN v.lastRun = row.lastRun THEN null ELSE v.lastRunState END,
    v.lastRunStreaming = CASE WHEN v.lastRun = row.lastRun THEN null ELSE v.lastRunStreaming END,
    v.keptRuns = CASE WHEN v.keptNumber IS NULL THEN null ELSE v.keptRuns + row.runs END
WITH row, v
WHERE v.keptNumber IS NOT NULL AND (v.keptLastMoment IS NULL OR v.keptLastMoment < row.lastMoment
      OR (v.keptLastMoment = row.lastMoment AND v.keptLastRun < row.lastRun))
SET v.keptLastRun = row.lastRun, v.keptLastMoment = row.lastMoment
