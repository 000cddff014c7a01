// Link jobs to the datasets that they currently write; `inputs` lists the inputs of this output (specification 6.6). `sinceAt`
// is [seconds, nanoseconds].
// parameters: $rows [{dataset, job, version, sinceAt, inputs?}]
UNWIND $rows AS row
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
MATCH (d:Dataset {key: row.dataset})
  USING INDEX SEEK d:Dataset(key)
CREATE (j)-[e:PRODUCES {version: row.version, since: CASE WHEN row.sinceAt IS NULL THEN null ELSE datetime({epochSeconds: row.sinceAt[0], nanosecond: row.sinceAt[1]}) END}]->(d)
SET e.inputs = row.inputs
