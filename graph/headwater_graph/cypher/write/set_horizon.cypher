// Set the horizon (specification 7): in microseconds since 1970, and as [seconds, nanoseconds].
// parameters: $rows [{horizon, at}], one row
UNWIND $rows AS row
MATCH (w:Writer {name: 'consumer'})
  USING INDEX SEEK w:Writer(name)
SET w.horizon = row.horizon, w.horizonAt = datetime({epochSeconds: row.at[0], nanosecond: row.at[1]})
