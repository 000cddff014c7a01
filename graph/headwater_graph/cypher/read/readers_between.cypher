// Return for each (dataset, after, until) the first reads between the two moments that named no external version.
// parameters: $rows [{number, dataset, after, afterText, until, untilText}], $limit
UNWIND $rows AS row
CALL (row) {
  MATCH (v:DatasetVersion)-[e:READ_BY]->(r:Run)
  USING INDEX SEEK e:READ_BY(dataset, moment)
  WHERE e.dataset = row.dataset AND e.moment >= row.after AND e.moment <= row.until
    AND (e.moment > row.after OR r.id > row.afterText) AND (e.moment < row.until OR r.id <= row.untilText)
  RETURN v, e, r ORDER BY e.dataset, e.moment, r.id LIMIT $limit
}
RETURN collect({number: row.number, run: r.id, moment: e.moment, version: v.id, external: null}) AS rows
