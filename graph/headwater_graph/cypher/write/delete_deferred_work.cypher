// Take work that is done off the list.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (o:Owed {key: row.key})
  USING INDEX SEEK o:Owed(key)
DELETE o
