// Link fields to datasets that had no node when the fields were first named.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.key})
  USING INDEX SEEK d:Dataset(key)
MATCH (f:Field {of: row.key})
  USING INDEX SEEK f:Field(of)
MERGE (f)-[:FIELD_OF]->(d)
