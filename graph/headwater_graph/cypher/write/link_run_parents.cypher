// Link runs to their parent runs (specification 2.8).
// parameters: $rows [{run, parent}]
UNWIND $rows AS row
MATCH (child:Run {key: row.run})
  USING INDEX SEEK child:Run(key)
MATCH (parent:Run {key: row.parent})
  USING INDEX SEEK parent:Run(key)
MERGE (child)-[:CHILD_OF]->(parent)
