// Tie runs to the jobs of their parents (SPEC 2.8).
// parameters: $rows [{run, parent}]
UNWIND $rows AS row
MATCH (child:Run {key: row.run})
MATCH (parent:Job {key: row.parent})
MERGE (child)-[:CHILD_OF]->(parent)
