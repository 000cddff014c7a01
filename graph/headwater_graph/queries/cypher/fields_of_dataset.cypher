// The fields of a dataset of which column lineage tells.
// parameters: key
MATCH (:Dataset {key: $key})<-[:FIELD_OF]-(f:Field)
RETURN f.key AS key, f.name AS name
ORDER BY name
