// Datasets whose name contains a text in lower case, the closest matches first: the whole name, its beginning, its end, anywhere;
// of equally close ones the shortest first.
// parameters: text, limit
MATCH (n:Dataset) WHERE toLower(n.name) CONTAINS $text
RETURN n.key AS key, n.namespace AS namespace, n.name AS name
ORDER BY CASE WHEN toLower(n.name) = $text THEN 0 WHEN toLower(n.name) STARTS WITH $text THEN 1
  WHEN toLower(n.name) ENDS WITH $text THEN 2 ELSE 3 END, size(n.name), n.name, n.namespace LIMIT $limit
