// Take work that is done off the list.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (o:DeferredWork {key: row.key})
  USING INDEX SEEK o:DeferredWork(key)
DELETE o
