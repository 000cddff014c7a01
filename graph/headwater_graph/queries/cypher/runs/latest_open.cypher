// The open runs of some jobs, or of all where `keys` is null, among the latest `most` of each state.
// parameters: keys, most
UNWIND ['NEW', 'RUNNING'] AS state
CALL (state) {
  MATCH (r:Run {state: state}) WHERE r.lastEventAt IS NOT NULL
  RETURN r ORDER BY r.state DESC, r.lastEventAt DESC LIMIT $most
}
WITH r WHERE r.job IS NOT NULL AND ($keys IS NULL OR r.job IN $keys)
RETURN r.job AS at, r.id AS id, r.state AS state, r.startedAt AS startedAt, r.endedAt AS endedAt, r.lastEventAt AS lastEventAt
