// Link jobs to their parents (specification 2.8).
// parameters: $rows [{key, parent}]
UNWIND $rows AS row
MATCH (child:Job {key: row.key})
  USING INDEX SEEK child:Job(key)
MATCH (parent:Job {key: row.parent})
  USING INDEX SEEK parent:Job(key)
MERGE (child)-[:CHILD_OF]->(parent)
