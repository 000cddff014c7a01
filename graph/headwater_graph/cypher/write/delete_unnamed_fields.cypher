// Delete fields without column edges.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (f:Field {key: row.key})
  USING INDEX SEEK f:Field(key)
WHERE NOT EXISTS { (f)-[:DERIVES]-() }
DETACH DELETE f
