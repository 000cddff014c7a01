// Return all reads, with the properties by which the writer finds them.
// parameters: none
MATCH (v:DatasetVersion)-[e:READ_BY]->(r:Run)
RETURN r.id AS run, v.id AS version, e.dataset AS dataset, e.moment AS moment, e.exactMoment AS exactMoment,
       e.externalKey AS externalKey
