// Tie runs to their parent runs (SPEC 2.8).
// parameters: $rows [{run, parent}]
UNWIND $rows AS row
MATCH (child:Run {key: row.run})
MATCH (parent:Run {key: row.parent})
MERGE (child)-[:CHILD_OF]->(parent)
