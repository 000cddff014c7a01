// Jobs whose name holds a text in small letters, the closest first: the whole name, its beginning, its end, anywhere; then the shortest.
// parameters: text, limit
MATCH (n:Job) WHERE toLower(n.name) CONTAINS $text
RETURN n.key AS key, n.namespace AS namespace, n.name AS name
ORDER BY CASE WHEN toLower(n.name) = $text THEN 0 WHEN toLower(n.name) STARTS WITH $text THEN 1
  WHEN toLower(n.name) ENDS WITH $text THEN 2 ELSE 3 END, size(n.name), n.name, n.namespace LIMIT $limit
