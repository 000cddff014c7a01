// The jobs that read some datasets as of a time (SPEC 6.4), at most `fan` of each.
// parameters: keys, fan, rows, time
UNWIND $keys AS at
MATCH (d:Dataset {key: at})
CALL (d) {
  MATCH (d)<-[:HAS_INPUT]-(v:JobVersion)<-[:HAS_VERSION]-(j:Job)
  WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo)
  RETURN j, v LIMIT $fan
}
RETURN at, j.key AS key, j.namespace AS namespace, j.name AS name, v.id AS version, null AS inputs
LIMIT $rows
