// Return for each (dataset, moment, run) the latest version before the moment that the run did not make (specification 5.2).
// parameters: $rows [{number, dataset, moment, tie, text, run}]
UNWIND $rows AS row
CALL (row) {
  MATCH (v:DatasetVersion)
  USING INDEX SEEK v:DatasetVersion(dataset, moment, tie)
  WHERE v.tie IS NOT NULL AND v.dataset = row.dataset AND v.moment <= row.moment AND coalesce(v.madeBy <> row.run, true)
    AND CASE WHEN v.moment < row.moment OR v.tie < row.tie THEN true ELSE v.tie = row.tie AND coalesce(v.madeBy, v.text) < row.text END
  RETURN v ORDER BY v.dataset DESC, v.moment DESC, v.tie DESC, coalesce(v.madeBy, v.text) DESC LIMIT 1
}
RETURN collect({number: row.number, id: v.id, moment: v.moment, madeBy: v.madeBy, text: v.text,
                external: v.external, drops: v.drops}) AS rows
