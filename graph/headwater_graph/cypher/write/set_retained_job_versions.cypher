// Set job versions as retained as they were at the horizon: the code version of that time is theirs from their start.
// parameters: $rows [{id, number, horizon}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.retainedNumber = row.number, v.retainedRuns = coalesce(v.retainedRuns, 0)
WITH row, v
WHERE v.codeMoment < row.horizon
SET v.codeMoment = v.moment, v.codeTie = coalesce(v.madeBy, v.text)
