// Link runs to the job versions that they ran.
// parameters: $rows [{run, version}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})
  USING INDEX SEEK r:Run(key)
MATCH (v:JobVersion {id: row.version})
  USING INDEX SEEK v:JobVersion(id)
CREATE (r)-[:RAN]->(v)
