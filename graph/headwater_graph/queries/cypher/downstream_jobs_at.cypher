// The jobs that read some datasets as of a time (specification 6.4), at most `fan` of each, as lists:
// from, key, namespace, name, version, inputs (specification 6.6), whether the dataset has other names.
// parameters: keys, fan, rows, time
UNWIND $keys AS at
MATCH (d:Dataset {key: at})
CALL (d) {
  MATCH (d)<-[:HAS_INPUT]-(v:JobVersion)<-[:HAS_VERSION]-(j:Job)
  WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo)
  RETURN j, v LIMIT $fan
}
WITH at, j, v LIMIT $rows
RETURN collect({hop: [at, j.key, j.namespace, j.name, v.id, null, false]}) AS rows
