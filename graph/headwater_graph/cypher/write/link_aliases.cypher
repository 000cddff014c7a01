// Link datasets to their aliases (specification 6.7).
// parameters: $rows [{key, alias}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.key})
  USING INDEX SEEK d:Dataset(key)
MATCH (other:Dataset {key: row.alias})
  USING INDEX SEEK other:Dataset(key)
MERGE (d)-[:ALIAS_OF]->(other)
