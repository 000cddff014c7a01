// Untie datasets from names that they no longer have.
// parameters: $rows [{key, alias}]
UNWIND $rows AS row
MATCH (:Dataset {key: row.key})-[e:ALIAS_OF]->(:Dataset {key: row.alias})
DELETE e
