// Return the horizon, in microseconds since 1970, and what the last transaction stored of its writer.
// parameters: none
MATCH (w:Writer {name: 'consumer'})
  USING INDEX SEEK w:Writer(name)
RETURN w.horizon AS horizon, w.holder AS holder, w.batch AS batch, w.offsets AS offsets, w.done AS done,
       w.topics AS topics, w.losses AS losses
