// Columns whose name holds a text in small letters, the shortest first.
// parameters: text, limit
MATCH (n:Field) WHERE toLower(n.name) CONTAINS $text
RETURN n.key AS key, n.namespace AS namespace, n.dataset AS dataset, n.name AS name
ORDER BY size(n.name), n.name, n.dataset, n.namespace LIMIT $limit
