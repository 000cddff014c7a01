// Return for each (dataset, external version, after) the first reads that named the external version.
// parameters: $rows [{number, dataset, externalKey, external, after, afterText}], $limit
UNWIND $rows AS row
CALL (row) {
  MATCH (v:DatasetVersion)-[e:READ_BY]->(r:Run)
  USING INDEX SEEK e:READ_BY(dataset, externalKey, exactMoment)
  WHERE e.dataset = row.dataset AND e.externalKey = row.externalKey AND e.exactMoment >= row.after
    AND (e.exactMoment > row.after OR r.id > row.afterText)
  RETURN v, e, r ORDER BY e.dataset, e.externalKey, e.exactMoment, r.id LIMIT $limit
}
RETURN collect({number: row.number, run: r.id, moment: e.exactMoment, version: v.id, external: row.external}) AS rows
