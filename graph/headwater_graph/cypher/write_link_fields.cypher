// Tie fields to datasets that were not there when the fields were first named.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.key})
MATCH (f:Field {of: row.key})
MERGE (f)-[:FIELD_OF]->(d)
