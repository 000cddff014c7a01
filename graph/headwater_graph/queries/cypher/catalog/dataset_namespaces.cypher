// The namespaces of all datasets.
// parameters: none
MATCH (d:Dataset)
RETURN DISTINCT d.namespace AS name
ORDER BY name
