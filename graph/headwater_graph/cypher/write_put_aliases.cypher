// Tie datasets to their other names (SPEC 6.7).
// parameters: $rows [{key, alias}]
UNWIND $rows AS row
MATCH (d:Dataset {key: row.key})
MATCH (other:Dataset {key: row.alias})
MERGE (d)-[:ALIAS_OF]->(other)
