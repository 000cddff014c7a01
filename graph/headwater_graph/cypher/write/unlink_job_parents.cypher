// Unlink jobs from parents that they no longer have.
// parameters: $rows [{key, parent}]
UNWIND $rows AS row
MATCH (j:Job {key: row.key})-[e:CHILD_OF]->(:Job {key: row.parent})
  USING INDEX SEEK j:Job(key)
DELETE e
