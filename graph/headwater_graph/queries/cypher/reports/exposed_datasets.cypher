// The owners of some datasets, and the jobs that read them, at most `fan` of each; `total` is how many there are.
// parameters: keys, fan
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
RETURN key, coalesce(d.owners, []) AS owners,
  COLLECT { MATCH (d)-[:FEEDS]->(j:Job) RETURN [j.namespace, j.name] LIMIT $fan } AS readers,
  COUNT { (d)-[:FEEDS]->() } AS total
