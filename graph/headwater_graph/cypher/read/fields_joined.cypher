// Return the fields that the column edges of some outputs of jobs connect.
// parameters: $rows [{owner}]
UNWIND $rows AS row
MATCH (source:Field)-[e:DERIVES]->(target:Field)
  USING INDEX SEEK e:DERIVES(owner)
WHERE e.owner = row.owner
WITH collect(DISTINCT source) + collect(DISTINCT target) AS fields
UNWIND fields AS f
WITH DISTINCT f
RETURN collect([f.namespace, f.dataset, f.name]) AS rows
