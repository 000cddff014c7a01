// Unlink datasets from aliases that they no longer have.
// parameters: $rows [{key, alias}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.key})-[e:ALIAS_OF]->(:Dataset {key: row.alias})
  USING INDEX SEEK d:Dataset(key)
DELETE e
