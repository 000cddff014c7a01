// Return for each (dataset, moment) the first version after the moment.
// parameters: $rows [{number, dataset, moment, tie, text}]
UNWIND $rows AS row
CALL (row) {
  MATCH (v:DatasetVersion)
  USING INDEX SEEK v:DatasetVersion(dataset, moment, tie)
  WHERE v.tie IS NOT NULL AND v.dataset = row.dataset AND v.moment >= row.moment
    AND CASE WHEN v.moment > row.moment OR v.tie > row.tie THEN true ELSE v.tie = row.tie AND coalesce(v.madeBy, v.text) > row.text END
  RETURN v ORDER BY v.dataset, v.moment, v.tie, coalesce(v.madeBy, v.text) LIMIT 1
}
RETURN collect({number: row.number, id: v.id, moment: v.moment, madeBy: v.madeBy, text: v.text,
                external: v.external, drops: v.drops}) AS rows
