// Say how many runs kept job versions have of which none is there.
// parameters: $rows [{id, runs}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.runs = row.runs
