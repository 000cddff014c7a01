// Delete JobEvents.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (e:JobEvent {key: row.key})
  USING INDEX SEEK e:JobEvent(key)
DELETE e
