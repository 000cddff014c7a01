// Return all edges of the current graph, for the dump.
// parameters: none
MATCH (d:Dataset)-[e:FEEDS]->(j:Job)
OPTIONAL MATCH (v:JobVersion {id: e.version})
RETURN 'FEEDS' AS type, [d.namespace, d.name] AS dataset, [j.namespace, j.name] AS job, e.version AS version,
       v.moment AS since, v.runs AS runs, v.lastRun AS lastRun, null AS inputs
UNION ALL
MATCH (j:Job)-[e:PRODUCES]->(d:Dataset)
OPTIONAL MATCH (v:JobVersion {id: e.version})
RETURN 'PRODUCES' AS type, [d.namespace, d.name] AS dataset, [j.namespace, j.name] AS job, e.version AS version,
       v.moment AS since, v.runs AS runs, v.lastRun AS lastRun, e.inputs AS inputs
