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
RETURN at, j.key AS key, j.namespace AS namespace, j.name AS name, jv.id AS version, r.id AS run, r.state AS state,
  v.moment AS time, jv.moment AS since, jv.validTo AS until,
  COLLECT { MATCH (jv)-[:HAS_INPUT]->(i:Dataset)
    RETURN [i.key, i.namespace, i.name] ORDER BY i.namespace, i.name LIMIT $fan } AS inputs
