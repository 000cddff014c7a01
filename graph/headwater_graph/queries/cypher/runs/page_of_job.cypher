// A page of the runs of a job, the latest first, with their records and job versions; `total` is how many there are.
// parameters: job, offset, limit
MATCH (:Job {key: $job})<-[:RUN_OF]-(r:Run) WHERE r.lastEventAt IS NOT NULL
WITH r ORDER BY r.lastEventAt DESC, r.id DESC
WITH collect(r) AS runs
UNWIND runs[$offset..$offset + $limit] AS r
OPTIONAL MATCH (r)-[:RAN]->(v:JobVersion)
OPTIONAL MATCH (r)-[:RUN_OF]->(j:Job)
RETURN r.id AS id, j.namespace AS namespace, j.name AS name, r.state AS state, r.startedAt AS startedAt,
  r.endedAt AS endedAt, r.lastEventAt AS lastEventAt, r.record AS record, v.id AS version, size(runs) AS total
ORDER BY lastEventAt DESC, id DESC
