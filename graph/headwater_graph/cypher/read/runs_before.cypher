// Return for each (job, moment) the job's last versioned runs before the moment.
// parameters: $rows [{number, job, moment, tie, text}], $limit
UNWIND $rows AS row
CALL (row) {
  MATCH (n:Run)
  USING INDEX SEEK n:Run(job, moment, tie)
  WHERE n.tie IS NOT NULL AND n.job = row.job AND n.moment <= row.moment
    AND CASE WHEN n.moment < row.moment OR n.tie < row.tie THEN true ELSE n.tie = row.tie AND n.id < row.text END
  RETURN n ORDER BY n.job DESC, n.moment DESC, n.tie DESC, n.id DESC LIMIT $limit
}
OPTIONAL MATCH (n)-[:RAN]->(v:JobVersion)
RETURN collect({number: row.number, moment: n.moment, id: n.id, body: n.record, version: v.id}) AS rows
