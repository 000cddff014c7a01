// Drop job versions that no longer arise (SPEC 4.3).
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
DETACH DELETE v
