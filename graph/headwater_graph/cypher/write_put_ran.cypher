// Place runs in job versions.
// parameters: $rows [{run, version}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})
MATCH (v:JobVersion {id: row.version})
CREATE (r)-[:RAN]->(v)
