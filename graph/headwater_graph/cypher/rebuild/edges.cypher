// Delete a page of the edges that are derived from records.
// parameters: $after, $limit
MATCH ()-[e:DERIVES|FIELD_OF|FEEDS|PRODUCES|READ_BY|WROTE|RAN|RUN_OF|CHILD_OF|ALIAS_OF|HAS_INPUT|HAS_OUTPUT|HAS_VERSION|CURRENT]->()
WITH e LIMIT $limit
DELETE e
RETURN CASE count(e) WHEN 0 THEN null ELSE '' END AS next
