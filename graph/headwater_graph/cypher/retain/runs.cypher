// Return the runs that ended and had their last event before the horizon; `named`: a remaining run has it as its parent;
// `unmade`: versions without a maker that it read. `at` is the horizon as [seconds, nanoseconds].
// parameters: $at, $limit
WITH datetime({epochSeconds: $at[0], nanosecond: $at[1]}) AS horizon
MATCH (r:Run)
WHERE r.state IN ['COMPLETE', 'ABORT', 'FAIL'] AND r.lastEventAt < horizon
WITH r, horizon LIMIT $limit
RETURN r.key AS key, r.id AS id, r.moment AS moment,
       r.lastEventAt.epochMillis * 1000 + r.lastEventAt.microsecond % 1000 AS last,
       head(COLLECT { MATCH (r)-[:RAN]->(v) RETURN v.id }) AS version,
       EXISTS { (r)<-[:CHILD_OF]-(c:Run)
                WHERE NOT (c.state IN ['COMPLETE', 'ABORT', 'FAIL'] AND c.lastEventAt < horizon) } AS named,
       COLLECT { MATCH (r)-[:CHILD_OF]->(parent) RETURN parent.key } AS parents,
       COLLECT { MATCH (r)<-[:READ_BY]-(v) WHERE v.moment IS NULL RETURN v.id } AS unmade
