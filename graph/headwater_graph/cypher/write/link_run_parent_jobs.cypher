// Link runs to the jobs of their parents (specification 2.8).
// parameters: $rows [{run, parent}]
UNWIND $rows AS row
MATCH (child:Run {key: row.run})
  USING INDEX SEEK child:Run(key)
MATCH (parent:Job {key: row.parent})
  USING INDEX SEEK parent:Job(key)
MERGE (child)-[:CHILD_OF]->(parent)
