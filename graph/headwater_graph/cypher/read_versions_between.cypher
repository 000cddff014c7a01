// The job versions that start between two moments, both included.
// parameters: $job, $first, $firstTie, $firstText, $last, $lastTie, $lastText
MATCH (v:JobVersion)
WHERE v.job = $job AND v.moment >= $first AND v.moment <= $last
  AND (v.moment > $first OR v.tie > $firstTie OR (v.tie = $firstTie AND coalesce(v.madeBy, v.text) >= $firstText))
  AND (v.moment < $last OR v.tie < $lastTie OR (v.tie = $lastTie AND coalesce(v.madeBy, v.text) <= $lastText))
RETURN v.id AS id, v.moment AS moment, v.madeBy AS madeBy, v.text AS text, v.lineage AS lineage, v.lineageUnknown AS lineageUnknown,
       v.codeVersion AS codeVersion, v.codeMoment AS codeMoment, v.codeTie AS codeTie
ORDER BY v.job, v.moment, v.tie, coalesce(v.madeBy, v.text)
