// Return the read of a dataset with the greatest moment among those that named an external version (specification 5.5).
// parameters: $dataset, $earliest
MATCH (v:DatasetVersion)-[e:READ_BY]->(r:Run)
  USING INDEX SEEK e:READ_BY(dataset, exactMoment)
WHERE e.dataset = $dataset AND e.exactMoment >= $earliest
RETURN r.id AS run, e.exactMoment AS moment, v.id AS version, v.external AS external
ORDER BY e.dataset DESC, e.exactMoment DESC, r.id DESC LIMIT 1
