// Who last wrote some datasets until a moment: the run of the newest version that a run made, its job and job version, and
// what that version read. For a run that retention removed, the job is that of the retained version which the run made or was
// the last run of.
// parameters: keys, fan, until
UNWIND $keys AS at
CALL (at) {
  MATCH (v:DatasetVersion {dataset: at})
  WHERE v.tie IS NOT NULL AND v.madeBy IS NOT NULL AND v.moment <= $until
  RETURN v ORDER BY v.dataset DESC, v.moment DESC, v.tie DESC LIMIT 1
}
OPTIONAL MATCH (v)<-[:WROTE]-(r:Run)
OPTIONAL MATCH (r)-[:RUN_OF]->(own:Job)
OPTIONAL MATCH (r)-[:RAN]->(ran:JobVersion)
CALL (at, v, own) {
  WITH at, v, own WHERE own IS NULL
  OPTIONAL MATCH (:Dataset {key: at})<-[:HAS_OUTPUT]-(jv:JobVersion)<-[:HAS_VERSION]-(j:Job)
  WHERE v.madeBy IN [jv.madeBy, jv.lastRun, jv.retainedLastRun]
  RETURN jv AS retained, j AS retaining LIMIT 1
  UNION
  WITH at, v, own WHERE own IS NOT NULL
  RETURN null AS retained, null AS retaining
}
WITH at, v, r, coalesce(ran, retained) AS jv, coalesce(own, retaining) AS j
RETURN collect({
  at: at,
  key: j.key,
  namespace: j.namespace,
  name: j.name,
  version: jv.id,
  run: v.madeBy,
  state: coalesce(r.state, v.state),
  time: v.moment,
  since: jv.moment,
  until: jv.validTo,
  inputs: COLLECT { MATCH (jv)-[:HAS_INPUT]->(i:Dataset)
    RETURN [i.key, i.namespace, i.name] ORDER BY i.namespace, i.name LIMIT $fan }
}) AS rows
