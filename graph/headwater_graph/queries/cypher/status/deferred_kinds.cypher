// The kinds of deferred work, of at most some items.
// parameters: limit
MATCH (o:DeferredWork)
WHERE o.key IS NOT NULL
WITH o LIMIT $limit
RETURN o.kind AS kind, count(o) AS count
ORDER BY kind
