// Jobs whose name contains a text in lower case, the closest matches first (`match_rank` in queries/catalog/ranking.py), of equally
// close ones those with the most edges, then the latest ones; of a namespace, or of all if it is null. Edges are counted of at most
// `candidates` matches, of equally close ones those with the shortest names.
// parameters: text, namespace, separators, candidates, limit
MATCH (n:Job) WHERE toLower(n.name) CONTAINS $text AND ($namespace IS NULL OR n.namespace = $namespace)
WITH n, toLower(n.name) AS name
WITH n, name,
  CASE
    WHEN name = $text THEN 0
    WHEN any(s IN ['.', '/'] WHERE s + name CONTAINS s + $text AND none(part IN ['.', '/'] WHERE split(s + name, s + $text)[-1] CONTAINS part)) THEN 1
    WHEN name STARTS WITH $text OR any(s IN $separators WHERE name CONTAINS s + $text) THEN 2
    ELSE 3
  END AS rank
WITH n, name, rank ORDER BY rank, size(name), name LIMIT $candidates
WITH n, rank, COUNT { (n)-[:FEEDS|PRODUCES]-() } AS edges, coalesce(COLLECT { MATCH (n)-[:CURRENT]->(v) RETURN v.lastRunAt.epochMillis LIMIT 1 }[0], 0) AS at
RETURN n.key AS key, n.namespace AS namespace, n.name AS name, rank, edges, at
ORDER BY rank, edges DESC, at DESC, size(n.name), n.name, n.namespace LIMIT $limit
