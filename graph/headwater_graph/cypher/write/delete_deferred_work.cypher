// Delete deferred work that is done.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (o:DeferredWork {key: row.key})
  USING INDEX SEEK o:DeferredWork(key)
DELETE o
