// Cut the column edges of outputs of jobs, and fields that no edge names any more.
// parameters: $rows [{owner}]
UNWIND $rows AS row
MATCH (source:Field)-[e:DERIVES]->(target:Field)
  USING INDEX SEEK e:DERIVES(owner)
WHERE e.owner = row.owner
DELETE e
WITH collect(DISTINCT source) + collect(DISTINCT target) AS fields
UNWIND fields AS f
WITH DISTINCT f
WHERE NOT EXISTS { (f)-[:DERIVES]-() }
DETACH DELETE f
