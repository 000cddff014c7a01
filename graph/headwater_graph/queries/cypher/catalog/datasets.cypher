// A page of the datasets of a namespace, or of all where it is null, by name; `total` is how many there are.
// parameters: namespace, offset, limit
CALL () {
  MATCH (d:Dataset) WHERE $namespace IS NULL OR d.namespace = $namespace
  RETURN count(d) AS total
}
MATCH (d:Dataset) WHERE $namespace IS NULL OR d.namespace = $namespace
RETURN d.key AS key, d.namespace AS namespace, d.name AS name, total
ORDER BY name, namespace SKIP $offset LIMIT $limit
