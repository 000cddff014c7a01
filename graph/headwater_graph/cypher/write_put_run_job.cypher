// Tie runs to their jobs.
// parameters: $rows [{run, job}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})
MATCH (j:Job {key: row.job})
CREATE (r)-[:RUN_OF]->(j)
