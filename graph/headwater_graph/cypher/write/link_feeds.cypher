// Link datasets to the jobs that currently read them. `sinceAt` is [seconds, nanoseconds].
// parameters: $rows [{dataset, job, version, sinceAt}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.dataset})
  USING INDEX SEEK d:Dataset(key)
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
CREATE (d)-[:FEEDS {version: row.version, since: CASE WHEN row.sinceAt IS NULL THEN null ELSE datetime({epochSeconds: row.sinceAt[0], nanosecond: row.sinceAt[1]}) END}]->(j)
