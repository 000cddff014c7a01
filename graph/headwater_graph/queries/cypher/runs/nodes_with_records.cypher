// Some runs with their records.
// parameters: keys
UNWIND $keys AS key
MATCH (r:Run {key: key})
RETURN r.id AS id, r.state AS state, r.startedAt AS startedAt, r.endedAt AS endedAt, r.lastEventAt AS lastEventAt, r.record AS record
