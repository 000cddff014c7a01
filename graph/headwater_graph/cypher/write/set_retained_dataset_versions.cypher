// Set dataset versions whose makers are removed as retained.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:DatasetVersion {id: row.id})
  USING INDEX SEEK v:DatasetVersion(id)
SET v.retained = true
