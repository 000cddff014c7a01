// Take versions out of the fold whose runs have still to move; they are dropped when these have.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.moment = null
