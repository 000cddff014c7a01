// One level of a traversal: the jobs that read some datasets, and what those jobs write, at most `fan` of each, as lists:
// from, key, namespace, name, version, inputs (specification 6.6), whether the dataset has aliases.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys, fan, rows, farRows
UNWIND $keys AS at
MATCH (d:Dataset {key: at})
CALL (d) {
  MATCH (d)-[e:FEEDS]->(j:Job)
  RETURN j, e LIMIT $fan
}
WITH at, j, e LIMIT $rows
WITH collect([at, j.key, j.namespace, j.name, e.version, e.inputs, false]) AS near, collect(DISTINCT j) AS jobs
CALL (jobs) {
  UNWIND jobs AS j
  CALL (j) {
    MATCH (j)-[e:PRODUCES]->(d:Dataset)
    RETURN d, e LIMIT $fan
  }
  WITH j, d, e LIMIT $farRows
  RETURN collect([j.key, d.key, d.namespace, d.name, e.version, e.inputs, EXISTS { (d)-[:ALIAS_OF]-() }]) AS far
}
RETURN near, far
