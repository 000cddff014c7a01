// Remove dataset versions.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:DatasetVersion {id: row.id})
DETACH DELETE v
