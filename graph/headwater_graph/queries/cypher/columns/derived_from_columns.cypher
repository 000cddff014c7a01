// The columns from which anything is derived, of the datasets of some fields `*`.
// parameters: keys, rows
UNWIND $keys AS at
MATCH (:Field {key: at})-[:FIELD_OF]->(:Dataset)<-[:FIELD_OF]-(f:Field)
WHERE f.key <> at AND EXISTS { (f)-[:DERIVES]->() }
RETURN at, f.key AS key, f.namespace AS namespace, f.dataset AS dataset, f.name AS name
LIMIT $rows
