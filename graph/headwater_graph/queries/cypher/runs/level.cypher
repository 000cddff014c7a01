// The dataset versions that some runs wrote, and the runs that read each version, at most `fan` of each; `versions` and `runs`
// are how many there are.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (r:Run {key: at})
CALL (r) {
  MATCH (r)-[:WROTE]->(v:DatasetVersion)
  RETURN v LIMIT $fan
}
MATCH (d:Dataset {key: v.dataset})
CALL (v) {
  OPTIONAL MATCH (v)-[:READ_BY]->(w:Run)
  RETURN w LIMIT $fan
}
OPTIONAL MATCH (w)-[:RUN_OF]->(j:Job)
RETURN at, v.id AS version, d.namespace AS dataNamespace, d.name AS dataset, v.at AS versionAt,
  v.external AS external, EXISTS { (v)<-[:WROTE]-() } OR v.at IS NOT NULL AS made, w.key AS key,
  w.id AS id, j.namespace AS namespace, j.name AS name, w.state AS state, w.startedAt AS startedAt,
  w.endedAt AS endedAt, w.lastEventAt AS lastEventAt, w.streaming AS streaming, w.placeholder AS placeholder, w.removed AS removed,
  w.lineageUnknown AS lineageUnknown, w.conflicts AS conflicts,
  COUNT { (r)-[:WROTE]->() } AS versions, COUNT { (v)-[:READ_BY]->() } AS runs
LIMIT $rows
