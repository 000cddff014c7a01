// Take versions out of the fold whose runs have still to move; they are dropped when these have.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
SET v.moment = null
