// Return versions without a maker that are not current and that only runs read which are to be removed. `at` is the horizon.
// parameters: $at
WITH datetime({epochSeconds: $at[0], nanosecond: $at[1]}) AS horizon
MATCH (r:Run)
WHERE r.state IN ['COMPLETE', 'ABORT', 'FAIL'] AND r.lastEventAt < horizon
MATCH (r)<-[:READ_BY]-(v)
WHERE v.moment IS NULL
WITH DISTINCT v, horizon
WHERE NOT EXISTS { (v)<-[:CURRENT]-() }
  AND NOT EXISTS { (v)-[:READ_BY]->(c) WHERE NOT (c.state IN ['COMPLETE', 'ABORT', 'FAIL'] AND c.lastEventAt < horizon) }
RETURN v.id AS id
