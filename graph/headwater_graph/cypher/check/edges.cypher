// Return the time since when each current edge exists. Times are microseconds since 1970.
// parameters: none
MATCH (d:Dataset)-[e:FEEDS]->(j:Job)
RETURN 'FEEDS' AS type, [j.namespace, j.name] AS job, [d.namespace, d.name] AS dataset,
       e.since.epochMillis * 1000 + e.since.microsecond % 1000 AS since
UNION ALL
MATCH (j:Job)-[e:PRODUCES]->(d:Dataset)
RETURN 'PRODUCES' AS type, [j.namespace, j.name] AS job, [d.namespace, d.name] AS dataset,
       e.since.epochMillis * 1000 + e.since.microsecond % 1000 AS since
