// Return for each (job, moment) the job's first versioned runs at or after the moment.
// parameters: $rows [{number, job, moment, tie, text}], $limit
UNWIND $rows AS row
CALL (row) {
  MATCH (n:Run)
  USING INDEX SEEK n:Run(job, moment, tie)
  WHERE n.tie IS NOT NULL AND n.job = row.job AND n.moment >= row.moment
    AND CASE WHEN n.moment > row.moment OR n.tie > row.tie THEN true ELSE n.tie = row.tie AND n.id >= row.text END
  RETURN n ORDER BY n.job, n.moment, n.tie, n.id LIMIT $limit
}
OPTIONAL MATCH (n)-[:RAN]->(v:JobVersion)
RETURN collect({number: row.number, moment: n.moment, id: n.id, body: n.record, version: v.id}) AS rows
