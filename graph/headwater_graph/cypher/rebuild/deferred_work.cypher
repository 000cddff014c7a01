// Take off the list what is still owed besides the rebuild itself: it does all of that.
// parameters: $after, $limit
MATCH (o:DeferredWork)
WHERE o.kind <> 'rebuild'
WITH o LIMIT $limit
DELETE o
RETURN CASE count(o) WHEN 0 THEN null ELSE '' END AS next
