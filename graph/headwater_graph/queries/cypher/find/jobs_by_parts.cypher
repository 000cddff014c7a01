// Jobs whose name contains all parts of one of some lists of parts, in lower case; those with the most edges first.
// parameters: choices, limit
MATCH (n:Job)
WITH n, toLower(n.name) AS name
WHERE any(parts IN $choices WHERE all(part IN parts WHERE name CONTAINS part))
WITH n, 4 AS rank, COUNT { (n)-[:FEEDS|PRODUCES]-() } AS edges, coalesce(COLLECT { MATCH (n)-[:CURRENT]->(v) RETURN v.lastRunAt.epochMillis LIMIT 1 }[0], 0) AS at
RETURN n.key AS key, n.namespace AS namespace, n.name AS name, rank, edges, at
ORDER BY rank, edges DESC, at DESC, size(n.name), n.name, n.namespace LIMIT $limit
