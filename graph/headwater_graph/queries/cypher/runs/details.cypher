// One run with its job, the job version it ran, and its parent.
// parameters: key
MATCH (r:Run {key: $key})
OPTIONAL MATCH (r)-[:RUN_OF]->(j:Job)
OPTIONAL MATCH (r)-[:RAN]->(v:JobVersion)
OPTIONAL MATCH (r)-[:CHILD_OF]->(p:Run)
RETURN r.id AS id, j.namespace AS namespace, j.name AS name, r.state AS state, r.startedAt AS startedAt,
  r.endedAt AS endedAt, r.lastEventAt AS lastEventAt, r.streaming AS streaming, r.placeholder AS placeholder, r.removed AS removed,
  r.lineageUnknown AS lineageUnknown, r.conflicts AS conflicts, r.codeVersion AS codeVersion, r.error AS error,
  r.record AS record, v.id AS version, v.madeBy AS versionMadeBy, p.id AS parent
LIMIT 1
