// For each (job, moment) the job version with the greatest start before the moment.
// parameters: $rows [{number, job, moment, tie, text}]
UNWIND $rows AS row
CALL (row) {
  MATCH (v:JobVersion)
  USING INDEX v:JobVersion(job, moment, tie)
  WHERE v.tie IS NOT NULL AND v.job = row.job AND v.moment <= row.moment
    AND (v.moment < row.moment OR v.tie < row.tie OR (v.tie = row.tie AND coalesce(v.madeBy, v.text) < row.text))
  RETURN v ORDER BY v.job DESC, v.moment DESC, v.tie DESC, coalesce(v.madeBy, v.text) DESC LIMIT 1
}
RETURN row.number AS number, v.id AS id, v.moment AS moment, v.madeBy AS madeBy, v.text AS text, v.lineage AS lineage,
       v.lineageUnknown AS lineageUnknown, v.codeVersion AS codeVersion, v.codeMoment AS codeMoment, v.codeTie AS codeTie
