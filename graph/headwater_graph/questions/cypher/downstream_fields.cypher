// What is derived from some fields, at most `fan` of each; `total` tells how many there are.
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (f:Field {key: at})
CALL (f) {
  MATCH (f)-[e:DERIVES]->(g:Field)
  RETURN g, e LIMIT $fan
}
RETURN at, g.key AS key, g.namespace AS namespace, g.dataset AS dataset, g.name AS name, e.job AS job, e.type AS type,
  e.subtype AS subtype, e.masking AS masking, e.description AS description, e.undeclared AS undeclared,
  COUNT { (f)-[:DERIVES]->() } AS total
LIMIT $rows
