// Take the writer's lock for the rest of the transaction, and say who writes what.
// parameters: $holder, $batch, $offsets
MERGE (w:Writer {name: 'consumer'})
SET w.holder = $holder, w.batch = $batch, w.offsets = $offsets, w.at = datetime(), w.epoch = coalesce(w.epoch, 0) + 1
RETURN w.epoch AS epoch
