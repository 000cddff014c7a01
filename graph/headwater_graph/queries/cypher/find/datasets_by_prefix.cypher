// Datasets whose name begins with a text, in a namespace, or in all if it is null.
// parameters: namespace, prefix, limit
MATCH (n:Dataset)
WHERE n.name STARTS WITH $prefix AND ($namespace IS NULL OR n.namespace = $namespace)
RETURN n.namespace AS namespace, n.name AS name
ORDER BY name, namespace LIMIT $limit
