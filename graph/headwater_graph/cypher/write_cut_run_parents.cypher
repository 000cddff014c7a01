// Untie runs from parents, runs or jobs, that they no longer have.
// parameters: $rows [{run, parent}]
UNWIND $rows AS row
MATCH (:Run {key: row.run})-[e:CHILD_OF]->(parent)
WHERE parent.key = row.parent
DELETE e
