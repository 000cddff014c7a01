// Columns whose name contains a text in lower case, the closest matches first (`match_rank` in queries/catalog/ranking.py), of equally
// close ones those with the most edges, then the latest ones. Edges are counted of at most `candidates` matches, of equally close
// ones those with the shortest names.
// parameters: text, separators, candidates, limit
MATCH (n:Field) WHERE toLower(n.name) CONTAINS $text
WITH n, toLower(n.name) AS name
WITH n, name,
  CASE
    WHEN name = $text THEN 0
    WHEN any(s IN ['.', '/'] WHERE s + name CONTAINS s + $text AND none(part IN ['.', '/'] WHERE split(s + name, s + $text)[-1] CONTAINS part)) THEN 1
    WHEN name STARTS WITH $text OR any(s IN $separators WHERE name CONTAINS s + $text) THEN 2
    ELSE 3
  END AS rank
WITH n, name, rank ORDER BY rank, size(name), name LIMIT $candidates
WITH n, rank, COUNT { (n)-[:DERIVES]-() } AS edges, 0 AS at
RETURN n.key AS key, n.namespace AS namespace, n.dataset AS dataset, n.name AS name, rank, edges, at
ORDER BY rank, edges DESC, at DESC, size(n.name), n.name, n.dataset, n.namespace LIMIT $limit
