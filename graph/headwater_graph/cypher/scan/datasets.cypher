// Return all datasets with their aliases, for the dump.
// parameters: none
MATCH (d:Dataset)
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
RETURN [d.namespace, d.name] AS key, d.record AS record, d.retainedRead AS retainedRead, v.id AS current, d.dropped AS dropped,
       COLLECT { MATCH (d)-[:ALIAS_OF]-(other) RETURN [other.namespace, other.name] } AS aliases
