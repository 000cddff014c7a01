// Link runs to their jobs.
// parameters: $rows [{run, job}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})
  USING INDEX SEEK r:Run(key)
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
CREATE (r)-[:RUN_OF]->(j)
