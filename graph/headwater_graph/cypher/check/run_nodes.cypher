// Return what the dump lacks of all runs. Times are microseconds since 1970.
// parameters: none
MATCH (r:Run)
RETURN r.id AS id, r.placeholder AS placeholder, r.removed AS removed, r.made AS made, r.job AS job, r.state AS state, r.moment AS moment, r.tie AS tie,
       r.streaming AS streaming, r.lineageUnknown AS lineageUnknown, r.codeVersion AS codeVersion, r.conflicts AS conflicts,
       r.error AS error, r.startedAt.epochMillis * 1000 + r.startedAt.microsecond % 1000 AS started,
       r.endedAt.epochMillis * 1000 + r.endedAt.microsecond % 1000 AS ended,
       r.lastEventAt.epochMillis * 1000 + r.lastEventAt.microsecond % 1000 AS last,
       COLLECT { MATCH (r)-[:RUN_OF]->(j) RETURN [j.namespace, j.name] } AS runOf,
       COLLECT { MATCH (r)-[:CHILD_OF]->(parent:Run) RETURN parent.id } AS parents,
       COLLECT { MATCH (r)-[:CHILD_OF]->(parent:Job) RETURN [parent.namespace, parent.name] } AS parentJobs
