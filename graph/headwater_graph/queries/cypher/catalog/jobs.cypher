// A page of the jobs of a namespace, or of all where it is null, by name; `total` is how many there are.
// parameters: namespace, offset, limit
CALL () {
  MATCH (j:Job) WHERE $namespace IS NULL OR j.namespace = $namespace
  RETURN count(j) AS total
}
MATCH (j:Job) WHERE $namespace IS NULL OR j.namespace = $namespace
RETURN j.key AS key, j.namespace AS namespace, j.name AS name, total
ORDER BY name, namespace SKIP $offset LIMIT $limit
