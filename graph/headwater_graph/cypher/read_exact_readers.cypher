// For each (dataset, external version, after) the first reads that named it.
// parameters: $rows [{number, dataset, externalKey, external, after, afterText}], $limit
UNWIND $rows AS row
CALL (row) {
  MATCH (v:DatasetVersion)-[e:READ_BY]->(r:Run)
  USING INDEX e:READ_BY(dataset, externalKey, exactMoment)
  WHERE e.dataset = row.dataset AND e.externalKey = row.externalKey AND e.exactMoment >= row.after
    AND (e.exactMoment > row.after OR r.id > row.afterText)
  RETURN v, e, r ORDER BY e.dataset, e.externalKey, e.exactMoment, r.id LIMIT $limit
}
RETURN row.number AS number, r.id AS run, e.exactMoment AS moment, v.id AS version, row.external AS external
