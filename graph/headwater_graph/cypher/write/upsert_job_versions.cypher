// Upsert job versions with their inputs and outputs (specification 4). `since` is [seconds, nanoseconds].
// parameters: $rows [{id, job, moment, tie, since, madeBy?, text?, codeVersion?, codeMoment?, codeTie?, lineageUnknown?, lineage, inputs [keys], outputs [keys]}]
UNWIND $rows AS row
MERGE (v:JobVersion {id: row.id})
SET v += {
  job: row.job, moment: row.moment, tie: row.tie, madeBy: row.madeBy, text: row.text, codeVersion: row.codeVersion,
  codeMoment: row.codeMoment, codeTie: row.codeTie, lineageUnknown: row.lineageUnknown, lineage: row.lineage,
  validFrom: CASE WHEN row.since IS NULL THEN null ELSE datetime({epochSeconds: row.since[0], nanosecond: row.since[1]}) END, runs: coalesce(v.runs, 0)
}
WITH row, v
CALL (v) {
  MATCH (v)-[e:HAS_INPUT|HAS_OUTPUT]->()
  DELETE e
}
CALL (row, v) {
  UNWIND row.inputs AS key
  MATCH (d:Dataset {key: key})
    USING INDEX SEEK d:Dataset(key)
  CREATE (v)-[:HAS_INPUT]->(d)
}
CALL (row, v) {
  UNWIND row.outputs AS key
  MATCH (d:Dataset {key: key})
    USING INDEX SEEK d:Dataset(key)
  CREATE (v)-[:HAS_OUTPUT]->(d)
}
CALL (row, v) {
  WITH row, v WHERE NOT EXISTS { (v)<-[:HAS_VERSION]-() }
  MATCH (j:Job {key: row.job})
    USING INDEX SEEK j:Job(key)
  CREATE (j)-[:HAS_VERSION]->(v)
}
