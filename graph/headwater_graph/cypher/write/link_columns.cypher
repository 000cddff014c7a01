// Link fields by column edges (specification 6.5).
// parameters: $rows [{owner, job, from, to, type?, subtype?, masking?, description?, undeclared?}]
UNWIND $rows AS row
MATCH (source:Field {key: row.from})
  USING INDEX SEEK source:Field(key)
MATCH (target:Field {key: row.to})
  USING INDEX SEEK target:Field(key)
CREATE (source)-[:DERIVES {
  owner: row.owner, job: row.job, type: row.type, subtype: row.subtype, masking: row.masking,
  description: row.description, undeclared: row.undeclared
}]->(target)
