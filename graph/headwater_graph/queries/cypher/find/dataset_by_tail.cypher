// Datasets whose name ends with a text, the shortest names first, so that the limit never removes the closest matches.
// parameters: tail, limit
MATCH (n:Dataset) WHERE n.name ENDS WITH $tail
RETURN n.key AS key, n.namespace AS namespace, n.name AS name, [(n)-[:ALIAS_OF]->(a:Dataset) | a.key] AS aliases
ORDER BY size(n.name), n.name, n.namespace LIMIT $limit
