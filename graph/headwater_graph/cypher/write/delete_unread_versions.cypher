// Delete versions without a maker that no run reads any more, except those that retention retains.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:DatasetVersion {id: row.id})
  USING INDEX SEEK v:DatasetVersion(id)
WHERE v.moment IS NULL AND v.retained IS NULL AND NOT EXISTS { (v)-[:READ_BY]->() }
DETACH DELETE v
