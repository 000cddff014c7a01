// Set job versions as obsolete: without a moment they are not part of the fold, and they are deleted when their runs have moved.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.moment = null
