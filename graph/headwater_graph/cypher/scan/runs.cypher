// Return all runs with what they read and wrote, for the dump.
// parameters: none
MATCH (r:Run)
OPTIONAL MATCH (r)-[:RAN]->(v:JobVersion)
RETURN r.id AS id, r.record AS record, v.id AS version,
       COLLECT { MATCH (r)<-[:READ_BY]-(read:DatasetVersion)<-[:HAS_VERSION]-(d) RETURN [d.namespace, d.name, read.id] } AS reads,
       COLLECT { MATCH (r)-[:WROTE]->(wrote:DatasetVersion)<-[:HAS_VERSION]-(d) RETURN [d.namespace, d.name, wrote.id] } AS writes
