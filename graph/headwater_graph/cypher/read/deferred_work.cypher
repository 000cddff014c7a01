// Return deferred work: a rebuild first, the rest by kind and key.
// parameters: $limit
MATCH (o:DeferredWork)
RETURN o.key AS key, o.kind AS kind, o.body AS body ORDER BY o.key <> '!', o.kind, o.key LIMIT $limit
