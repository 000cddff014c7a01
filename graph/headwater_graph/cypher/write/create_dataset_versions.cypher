// Create versions that runs make for the first time (specification 5.1). `at` is [seconds, nanoseconds].
// parameters: $rows [{id, dataset, moment, tie, at, madeBy, run, external?, externalKey?, state, schema?, drops?}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
  USING INDEX SEEK d:Dataset(key)
MATCH (r:Run {key: row.run})
  USING INDEX SEEK r:Run(key)
CREATE (d)-[:HAS_VERSION]->(:DatasetVersion {
  id: row.id, dataset: row.dataset, moment: row.moment, tie: row.tie, madeBy: row.madeBy, external: row.external,
  externalKey: row.externalKey, state: row.state, schema: row.schema, drops: row.drops,
  at: datetime({epochSeconds: row.at[0], nanosecond: row.at[1]})
})<-[:WROTE]-(r)
