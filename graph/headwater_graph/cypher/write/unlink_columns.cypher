// Unlink the column edges of outputs of jobs.
// parameters: $rows [{owner}]
UNWIND $rows AS row
MATCH (:Field)-[e:DERIVES]->(:Field)
  USING INDEX SEEK e:DERIVES(owner)
WHERE e.owner = row.owner
DELETE e
