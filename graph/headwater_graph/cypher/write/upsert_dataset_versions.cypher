// Upsert versions that runs and DatasetEvents make (specification 5.1, 5.4). `at` is [seconds, nanoseconds].
// parameters: $rows [{id, dataset, moment, tie, at, madeBy?, text?, run?, external?, externalKey?, state?, schema?, drops?}]
UNWIND $rows AS row
MERGE (v:DatasetVersion {id: row.id})
SET v += {
  dataset: row.dataset, moment: row.moment, tie: row.tie, madeBy: row.madeBy, text: row.text, external: row.external,
  externalKey: row.externalKey, state: row.state, schema: row.schema, drops: row.drops,
  at: CASE WHEN row.at IS NULL THEN null ELSE datetime({epochSeconds: row.at[0], nanosecond: row.at[1]}) END
}
WITH row, v
CALL (row, v) {
  WITH row, v WHERE NOT EXISTS { (v)<-[:HAS_VERSION]-() }
  MATCH (d:Dataset {key: row.dataset})
    USING INDEX SEEK d:Dataset(key)
  CREATE (d)-[:HAS_VERSION]->(v)
}
CALL (row, v) {
  WITH row, v WHERE row.run IS NOT NULL AND NOT EXISTS { (v)<-[:WROTE]-() }
  MATCH (r:Run {key: row.run})
    USING INDEX SEEK r:Run(key)
  CREATE (r)-[:WROTE]->(v)
}
