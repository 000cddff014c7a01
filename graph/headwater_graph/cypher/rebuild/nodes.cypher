// Delete a page of the nodes that are derived from records and hold nothing else.
// parameters: $after, $limit
MATCH (n:Field|JobVersion)
WHERE n.retainedNumber IS NULL
WITH n LIMIT $limit
DETACH DELETE n
RETURN CASE count(n) WHEN 0 THEN null ELSE '' END AS next
