// The child runs of some runs, the first started first.
// parameters: keys, limit
UNWIND $keys AS at
MATCH (:Run {key: at})<-[:CHILD_OF]-(r:Run)
OPTIONAL MATCH (r)-[:RUN_OF]->(j:Job)
RETURN at, r.key AS key, r.id AS id, j.namespace AS namespace, j.name AS name, r.state AS state,
  r.startedAt AS startedAt, r.endedAt AS endedAt, r.lastEventAt AS lastEventAt, r.streaming AS streaming,
  r.placeholder AS placeholder, r.removed AS removed, r.lineageUnknown AS lineageUnknown, r.conflicts AS conflicts
ORDER BY startedAt, id LIMIT $limit
