// Return for each (job, moment) the job version with the least start after the moment.
// parameters: $rows [{number, job, moment, tie, text}]
UNWIND $rows AS row
CALL (row) {
  MATCH (v:JobVersion)
  USING INDEX SEEK v:JobVersion(job, moment, tie)
  WHERE v.tie IS NOT NULL AND v.job = row.job AND v.moment >= row.moment
    AND CASE WHEN v.moment > row.moment OR v.tie > row.tie THEN true ELSE v.tie = row.tie AND coalesce(v.madeBy, v.text) > row.text END
  RETURN v ORDER BY v.job, v.moment, v.tie, coalesce(v.madeBy, v.text) LIMIT 1
}
RETURN collect({number: row.number, id: v.id, moment: v.moment, madeBy: v.madeBy, text: v.text, lineage: v.lineage,
                lineageUnknown: v.lineageUnknown, codeVersion: v.codeVersion, codeMoment: v.codeMoment,
                codeTie: v.codeTie,
                retainedNumber: v.retainedNumber, retainedRuns: v.retainedRuns, retainedLastRun: v.retainedLastRun,
                retainedLastMoment: v.retainedLastMoment}) AS rows
