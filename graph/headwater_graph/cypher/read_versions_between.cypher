// For each (job, first, last) the job versions that start between two moments, both included.
// parameters: $rows [{number, job, moment, tie, text, last, lastTie, lastText}]
UNWIND $rows AS row
MATCH (v:JobVersion)
  USING INDEX v:JobVersion(job, moment, tie)
WHERE v.tie IS NOT NULL AND v.job = row.job AND v.moment >= row.moment AND v.moment <= row.last
  AND CASE WHEN v.moment > row.moment OR v.tie > row.tie THEN true ELSE v.tie = row.tie AND coalesce(v.madeBy, v.text) >= row.text END
  AND CASE WHEN v.moment < row.last OR v.tie < row.lastTie THEN true ELSE v.tie = row.lastTie AND coalesce(v.madeBy, v.text) <= row.lastText END
RETURN row.number AS number, v.id AS id, v.moment AS moment, v.madeBy AS madeBy, v.text AS text, v.lineage AS lineage,
       v.lineageUnknown AS lineageUnknown, v.codeVersion AS codeVersion, v.codeMoment AS codeMoment, v.codeTie AS codeTie
ORDER BY number, v.moment, v.tie, coalesce(v.madeBy, v.text)
