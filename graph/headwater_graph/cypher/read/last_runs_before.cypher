// Return for each (job, moment) the job's versioned run with the greatest moment before it.
// parameters: $rows [{number, job, moment, tie, text}]
UNWIND $rows AS row
CALL (row) {
  MATCH (n:Run)
  USING INDEX SEEK n:Run(job, moment, tie)
  WHERE n.tie IS NOT NULL AND n.job = row.job AND n.moment <= row.moment
    AND CASE WHEN n.moment < row.moment OR n.tie < row.tie THEN true ELSE n.tie = row.tie AND n.id < row.text END
  RETURN n ORDER BY n.job DESC, n.moment DESC, n.tie DESC, n.id DESC LIMIT 1
}
RETURN collect({number: row.number, id: n.id, moment: n.moment}) AS rows
