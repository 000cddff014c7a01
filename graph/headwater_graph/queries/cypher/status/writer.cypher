// What the consumer stored with its last batches, and how much deferred work there is; no row in a new graph.
// parameters: none
MATCH (w:Writer {name: 'consumer'})
RETURN w.holder AS holder, w.at AS at, w.batch AS batch, w.offsets AS offsets, w.losses AS losses, w.horizon AS horizon,
  COUNT { MATCH (:DeferredWork) } AS deferred
