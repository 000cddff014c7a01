// Untie jobs from parents that they no longer have.
// parameters: $rows [{key, parent}]
UNWIND $rows AS row
MATCH (:Job {key: row.key})-[e:CHILD_OF]->(:Job {key: row.parent})
DELETE e
