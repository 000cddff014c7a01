// Set the run counts of job versions that gained or lost runs (specification 6.2).
// parameters: $rows [{id, runs}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.runs = coalesce(v.runs, 0) + row.runs
