// The fields of some datasets that have column lineage.
// parameters: keys, rows
UNWIND $keys AS at
MATCH (:Dataset {key: at})<-[:FIELD_OF]-(f:Field)
WITH at, f LIMIT $rows
RETURN collect({at: at, key: f.key, namespace: f.namespace, dataset: f.dataset, name: f.name}) AS rows
