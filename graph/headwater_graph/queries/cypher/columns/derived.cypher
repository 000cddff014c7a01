// What is derived from some fields, at most `fan` of each; `total` is how many there are.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (f:Field {key: at})
WITH at, f, COUNT { (f)-[:DERIVES]->() } AS total
CALL (f) {
  MATCH (f)-[e:DERIVES]->(g:Field)
  RETURN g, e LIMIT $fan
}
WITH at, total, g, e LIMIT $rows
RETURN collect({
  at: at, key: g.key, namespace: g.namespace, dataset: g.dataset, name: g.name, job: e.job, type: e.type,
  subtype: e.subtype, masking: e.masking, description: e.description, undeclared: e.undeclared, total: total
}) AS rows
