// Unlink runs from parents, runs or jobs, that they no longer have.
// parameters: $rows [{run, parent}]
UNWIND $rows AS row
MATCH (r:Run {key: row.run})-[e:CHILD_OF]->(parent)
  USING INDEX SEEK r:Run(key)
WHERE parent.key = row.parent
DELETE e
