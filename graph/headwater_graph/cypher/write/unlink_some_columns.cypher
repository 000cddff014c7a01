// Unlink a limited number of column edges of one output of a job, and delete fields without column edges.
// parameters: $rows [{owner, limit}], one row
MATCH (source:Field)-[e:DERIVES]->(target:Field)
  USING INDEX SEEK e:DERIVES(owner)
WHERE e.owner = $rows[0].owner
WITH source, e, target LIMIT $rows[0].limit
DELETE e
WITH collect(DISTINCT source) + collect(DISTINCT target) AS fields
UNWIND fields AS f
WITH DISTINCT f
WHERE NOT EXISTS { (f)-[:DERIVES]-() }
DETACH DELETE f
