// Delete job versions that the fold no longer has (specification 4.3).
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
DETACH DELETE v
