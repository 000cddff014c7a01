// Delete deferred work other than the rebuild itself, which does all of that work.
// parameters: $after, $limit
MATCH (o:DeferredWork)
WHERE o.kind <> 'rebuild'
WITH o LIMIT $limit
DELETE o
RETURN CASE count(o) WHEN 0 THEN null ELSE '' END AS next
