// Set the run counts of retained job versions that have no runs left.
// parameters: $rows [{id, runs}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.runs = row.runs
