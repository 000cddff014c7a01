// Jobs whose name ends with a text, the shortest names first: the closest matches are never cut off.
// parameters: tail, limit
MATCH (n:Job) WHERE n.name ENDS WITH $tail
RETURN n.key AS key, n.namespace AS namespace, n.name AS name
ORDER BY size(n.name), n.name, n.namespace LIMIT $limit
