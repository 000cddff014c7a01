// Jobs whose current version was made by one of the latest runs and is not their first, the latest version first.
// parameters: runs, limit
MATCH (r:Run)
WHERE r.lastEventAt IS NOT NULL
WITH r ORDER BY r.lastEventAt DESC LIMIT $runs
MATCH (r)-[:RAN]->(v:JobVersion)<-[:CURRENT]-(j:Job)
WHERE v.madeBy = r.id AND EXISTS { (j)-[:HAS_VERSION]->(o) WHERE o.moment < v.moment }
RETURN j.key AS key, j.namespace AS namespace, j.name AS name
ORDER BY v.moment DESC, name LIMIT $limit
