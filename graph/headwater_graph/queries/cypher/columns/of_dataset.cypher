// The fields of a dataset that have column lineage.
// parameters: key
MATCH (:Dataset {key: $key})<-[:FIELD_OF]-(f:Field)
RETURN f.key AS key, f.name AS name
ORDER BY name
