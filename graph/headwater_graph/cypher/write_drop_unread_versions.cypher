// Drop versions that nobody made and nobody reads any more.
// parameters: $rows [{id}]
UNWIND $rows AS row
MATCH (v:DatasetVersion {id: row.id})
WHERE v.moment IS NULL AND NOT EXISTS { (v)-[:READ_BY]->() }
DETACH DELETE v
