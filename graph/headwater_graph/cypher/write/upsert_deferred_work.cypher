// Upsert work for later transactions.
// parameters: $rows [{key, kind, body}]
UNWIND $rows AS row
MERGE (o:DeferredWork {key: row.key})
SET o.kind = row.kind, o.body = row.body
