// The last run of each job's current version, with its record.
// parameters: limit
MATCH (:Job)-[:CURRENT]->(v:JobVersion)
WHERE v.lastRun IS NOT NULL
WITH v LIMIT $limit
MATCH (r:Run {id: v.lastRun})
RETURN v.lineageUnknown AS lineageUnknown, r.record AS record
