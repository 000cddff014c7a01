// Jobs whose name begins so, in a namespace or, where it is null, in all.
// parameters: namespace, prefix, limit
MATCH (n:Job)
WHERE n.name STARTS WITH $prefix AND ($namespace IS NULL OR n.namespace = $namespace)
RETURN n.namespace AS namespace, n.name AS name
ORDER BY name, namespace LIMIT $limit
