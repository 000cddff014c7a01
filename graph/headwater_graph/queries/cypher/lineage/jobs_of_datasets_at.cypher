// The jobs that read some datasets as of a time (specification 6.4), at most `fan` of each, as lists:
// from, key, namespace, name, version, inputs (specification 6.6), and false.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys, fan, rows, time
UNWIND $keys AS at
MATCH (d:Dataset {key: at})
CALL (d) {
  MATCH (d)<-[:HAS_INPUT]-(v:JobVersion)<-[:HAS_VERSION]-(j:Job)
  WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo)
  RETURN j, v LIMIT $fan
}
OPTIONAL MATCH (d)-[e:FEEDS]->(j) WHERE e.version = v.id
WITH at, j, e, v LIMIT $rows
RETURN collect({neighbour: [at, j.key, j.namespace, j.name, v.id, e.inputs, false]}) AS rows
