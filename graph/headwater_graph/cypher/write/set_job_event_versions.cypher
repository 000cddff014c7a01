// Set the versions that JobEvents belong to.
// parameters: $rows [{key, version}]
UNWIND $rows AS row
MATCH (e:JobEvent {key: row.key})
  USING INDEX SEEK e:JobEvent(key)
SET e.version = row.version
