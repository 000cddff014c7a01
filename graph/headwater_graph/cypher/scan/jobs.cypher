// Return all jobs, for the dump.
// parameters: none
MATCH (j:Job)
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
RETURN [j.namespace, j.name] AS key, j.record AS record, j.retainedSources AS retainedSources, v.id AS current
