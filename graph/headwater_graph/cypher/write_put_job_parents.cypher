// Tie jobs to their parents (SPEC 2.8).
// parameters: $rows [{key, parent}]
UNWIND $rows AS row
MATCH (child:Job {key: row.key})
MATCH (parent:Job {key: row.parent})
MERGE (child)-[:CHILD_OF]->(parent)
