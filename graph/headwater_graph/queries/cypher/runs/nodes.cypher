// Some runs with their jobs.
// parameters: keys
UNWIND $keys AS key
MATCH (w:Run {key: key})
OPTIONAL MATCH (w)-[:RUN_OF]->(j:Job)
RETURN key,
  w.id AS id, j.namespace AS namespace, j.name AS name, w.state AS state, w.startedAt AS startedAt,
  w.endedAt AS endedAt, w.lastEventAt AS lastEventAt, w.streaming AS streaming, w.placeholder AS placeholder, w.removed AS removed,
  w.lineageUnknown AS lineageUnknown, w.conflicts AS conflicts
