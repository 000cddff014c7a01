// Datasets whose name holds a text in small letters, the shortest first.
// parameters: text, limit
MATCH (n:Dataset) WHERE toLower(n.name) CONTAINS $text
RETURN n.key AS key, n.namespace AS namespace, n.name AS name
ORDER BY size(n.name), n.name, n.namespace LIMIT $limit
