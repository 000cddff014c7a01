// The namespaces of all jobs and datasets.
// parameters: none
CALL () {
  MATCH (j:Job) RETURN DISTINCT j.namespace AS name
  UNION
  MATCH (d:Dataset) RETURN DISTINCT d.namespace AS name
}
RETURN DISTINCT name
ORDER BY name
