// Work that is still owed.
// parameters: $limit
MATCH (o:DeferredWork)
RETURN o.key AS key, o.kind AS kind, o.body AS body ORDER BY o.key <> '!', o.kind, o.key LIMIT $limit
