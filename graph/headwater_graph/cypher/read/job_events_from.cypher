// Return for each (job, moment) the first JobEvents at or after the moment.
// parameters: $rows [{number, job, moment, tie, text}], $limit
UNWIND $rows AS row
CALL (row) {
  MATCH (n:JobEvent)
  USING INDEX SEEK n:JobEvent(job, moment, tie)
  WHERE n.tie IS NOT NULL AND n.job = row.job AND n.moment >= row.moment
    AND CASE WHEN n.moment > row.moment OR n.tie > row.tie THEN true ELSE n.tie = row.tie AND n.text >= row.text END
  RETURN n ORDER BY n.job, n.moment, n.tie, n.text LIMIT $limit
}
RETURN collect({number: row.number, moment: n.moment, id: n.text, body: null, version: n.version}) AS rows
