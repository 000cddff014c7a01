// Return what the dump lacks of all job versions. Times are microseconds since 1970.
// parameters: none
MATCH (v:JobVersion)
RETURN v.id AS id, v.tie AS tie, v.retainedNumber AS retainedNumber, v.codeMoment AS codeMoment, v.codeTie AS codeTie, v.lastRun AS lastRun,
       v.lastRunState AS lastRunState, v.lastRunStreaming AS lastRunStreaming,
       v.lastRunAt.epochMillis * 1000 + v.lastRunAt.microsecond % 1000 AS lastRunAt,
       v.validFrom.epochMillis * 1000 + v.validFrom.microsecond % 1000 AS `from`,
       v.validTo.epochMillis * 1000 + v.validTo.microsecond % 1000 AS to,
       COLLECT { MATCH (v)<-[:HAS_VERSION]-(j:Job) RETURN [j.namespace, j.name] } AS of,
       COLLECT { MATCH (v)-[:HAS_INPUT]->(d) RETURN [d.namespace, d.name] } AS inputs,
       COLLECT { MATCH (v)-[:HAS_OUTPUT]->(d) RETURN [d.namespace, d.name] } AS outputs
