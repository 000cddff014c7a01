// Delete dataset versions.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:DatasetVersion {id: row.id})
  USING INDEX SEEK v:DatasetVersion(id)
DETACH DELETE v
