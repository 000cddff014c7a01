// Return for each (job, first, last) the job versions that start between the two moments, both included.
// parameters: $rows [{number, job, moment, tie, text, last, lastTie, lastText}]
UNWIND $rows AS row
MATCH (v:JobVersion)
  USING INDEX SEEK v:JobVersion(job, moment, tie)
WHERE v.tie IS NOT NULL AND v.job = row.job AND v.moment >= row.moment AND v.moment <= row.last
  AND CASE WHEN v.moment > row.moment OR v.tie > row.tie THEN true ELSE v.tie = row.tie AND coalesce(v.madeBy, v.text) >= row.text END
  AND CASE WHEN v.moment < row.last OR v.tie < row.lastTie THEN true ELSE v.tie = row.lastTie AND coalesce(v.madeBy, v.text) <= row.lastText END
WITH row, v ORDER BY row.number, v.moment, v.tie, coalesce(v.madeBy, v.text)
RETURN collect({number: row.number, id: v.id, moment: v.moment, madeBy: v.madeBy, text: v.text, lineage: v.lineage,
                lineageUnknown: v.lineageUnknown, codeVersion: v.codeVersion, codeMoment: v.codeMoment,
                codeTie: v.codeTie,
                retainedNumber: v.retainedNumber, retainedRuns: v.retainedRuns, retainedLastRun: v.retainedLastRun,
                retainedLastMoment: v.retainedLastMoment}) AS rows
