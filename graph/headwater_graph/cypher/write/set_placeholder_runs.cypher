// Set runs that others name as their parents to placeholders (specification 2.8).
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (r:Run {key: row.key})
  USING INDEX SEEK r:Run(key)
CALL (r) {
  MATCH (r)-[e]-()
  WHERE type(e) <> 'CHILD_OF' OR startNode(e) = r
  DELETE e
}
SET r = {key: r.key, id: r.id, placeholder: true}
