// JobEvents of jobs at or after a moment, for each (job, moment) the first ones.
// parameters: $rows [{number, job, moment, tie, text}], $limit
UNWIND $rows AS row
CALL (row) {
  MATCH (n:JobEvent)
  USING INDEX n:JobEvent(job, moment, tie)
  WHERE n.tie IS NOT NULL AND n.job = row.job AND n.moment >= row.moment
    AND CASE WHEN n.moment > row.moment OR n.tie > row.tie THEN true ELSE n.tie = row.tie AND n.text >= row.text END
  RETURN n ORDER BY n.job, n.moment, n.tie, n.text LIMIT $limit
}
RETURN row.number AS number, n.moment AS moment, n.text AS id, null AS body, n.version AS version
