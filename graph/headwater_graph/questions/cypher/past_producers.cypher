// Who last wrote some datasets until a moment: the run of the newest version that a run made, its job and job version, and what that version read.
// parameters: keys, fan, until
UNWIND $keys AS at
CALL (at) {
  MATCH (v:DatasetVersion {dataset: at})
  WHERE v.tie IS NOT NULL AND v.madeBy IS NOT NULL AND v.moment <= $until
  RETURN v ORDER BY v.dataset DESC, v.moment DESC, v.tie DESC LIMIT 1
}
MATCH (v)<-[:WROTE]-(r:Run)-[:RUN_OF]->(j:Job)
OPTIONAL MATCH (r)-[:RAN]->(jv:JobVersion)
RETURN collect({
  at: at,
  key: j.key,
  namespace: j.namespace,
  name: j.name,
  version: jv.id,
  run: r.id,
  state: r.state,
  time: v.moment,
  since: jv.moment,
  until: jv.validTo,
  inputs: COLLECT { MATCH (jv)-[:HAS_INPUT]->(i:Dataset)
    RETURN [i.key, i.namespace, i.name] ORDER BY i.namespace, i.name LIMIT $fan }
}) AS rows
