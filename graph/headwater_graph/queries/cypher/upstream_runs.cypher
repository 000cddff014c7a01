// What some runs read, at most `fan` versions of each, and the run that wrote each version if any did.
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (r:Run {key: at})
CALL (r) {
  MATCH (r)<-[:READ_BY]-(v:DatasetVersion)
  RETURN v LIMIT $fan
}
MATCH (d:Dataset {key: v.dataset})
OPTIONAL MATCH (v)<-[:WROTE]-(w:Run)
OPTIONAL MATCH (w)-[:RUN_OF]->(j:Job)
RETURN at, v.id AS version, d.namespace AS dataNamespace, d.name AS dataset, v.at AS versionAt,
  v.external AS external, EXISTS { (v)<-[:WROTE]-() } OR v.at IS NOT NULL AS made, w.key AS key,
  w.id AS id, j.namespace AS namespace, j.name AS name, w.state AS state, w.startedAt AS startedAt,
  w.endedAt AS endedAt, w.lastEventAt AS lastEventAt, w.streaming AS streaming, w.placeholder AS placeholder, w.removed AS removed,
  w.lineageUnknown AS lineageUnknown, w.conflicts AS conflicts,
  at AS wide, COUNT { (r)<-[:READ_BY]-() } AS total
LIMIT $rows
