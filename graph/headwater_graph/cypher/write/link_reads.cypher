// Link runs to the dataset versions that they read; `exactMoment` replaces `moment` if the run named an external version.
// parameters: $rows [{version, run, dataset, moment?, exactMoment?, externalKey?}]
UNWIND $rows AS row
MATCH (v:DatasetVersion {id: row.version})
  USING INDEX SEEK v:DatasetVersion(id)
MATCH (r:Run {key: row.run})
  USING INDEX SEEK r:Run(key)
CREATE (v)-[:READ_BY {
  dataset: row.dataset, moment: row.moment, exactMoment: row.exactMoment, externalKey: row.externalKey
}]->(r)
