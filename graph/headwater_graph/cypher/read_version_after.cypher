// The job version with the least start after a moment.
// parameters: $job, $moment, $tie, $text
MATCH (v:JobVersion)
WHERE v.job = $job AND v.moment >= $moment
  AND (v.moment > $moment OR v.tie > $tie OR (v.tie = $tie AND coalesce(v.madeBy, v.text) > $text))
RETURN v.id AS id, v.moment AS moment, v.madeBy AS madeBy, v.text AS text, v.lineage AS lineage, v.lineageUnknown AS lineageUnknown,
       v.codeVersion AS codeVersion, v.codeMoment AS codeMoment, v.codeTie AS codeTie
ORDER BY v.job, v.moment, v.tie, coalesce(v.madeBy, v.text) LIMIT 1
