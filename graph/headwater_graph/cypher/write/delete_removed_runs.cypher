// Delete placeholders of removed runs of which no version remains (`job`: a job version was deleted); a parent of other runs
// becomes a plain placeholder.
// parameters: $rows [{key, job?}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
  USING INDEX SEEK r:Run(key)
SET r.made = CASE WHEN row.job THEN null ELSE r.made END
WITH r
WHERE r.removed = true AND r.made IS NULL AND NOT EXISTS { (r)-[:WROTE]->() }
SET r.removed = null
WITH r
WHERE NOT EXISTS { (r)<-[:CHILD_OF]-() }
DETACH DELETE r
