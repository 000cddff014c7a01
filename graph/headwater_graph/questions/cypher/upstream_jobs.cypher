// The jobs whose current version writes to some datasets, at most `fan` of each.
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (d:Dataset {key: at})
CALL (d) {
  MATCH (d)<-[e:PRODUCES]-(j:Job)
  RETURN j, e LIMIT $fan
}
RETURN at, j.key AS key, j.namespace AS namespace, j.name AS name, e.version AS version, e.inputs AS inputs
LIMIT $rows
