// The jobs whose current version reads some datasets, at most `fan` of each.
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (d:Dataset {key: at})
CALL (d) {
  MATCH (d)-[e:FEEDS]->(j:Job)
  RETURN j, e LIMIT $fan
}
RETURN at, j.key AS key, j.namespace AS namespace, j.name AS name, e.version AS version, null AS inputs
LIMIT $rows
