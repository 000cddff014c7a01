// Count runs that are being removed: versions that are kept go on counting them and say which was the last; others forget them.
// parameters: $rows [{id, runs, lastRun, lastMoment}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.runs = CASE WHEN v.keptNumber IS NULL THEN v.runs - row.runs ELSE v.runs END,
    v.keptRuns = CASE WHEN v.keptNumber IS NULL THEN null ELSE v.keptRuns + row.runs END
WITH row, v
WHERE v.keptNumber IS NOT NULL AND (v.keptLastMoment IS NULL OR v.keptLastMoment < row.lastMoment
      OR (v.keptLastMoment = row.lastMoment AND v.keptLastRun < row.lastRun))
SET v.keptLastRun = row.lastRun, v.keptLastMoment = row.lastMoment
