// Take the writer's lock, and say who writes what; a writer of no batch (-1) leaves the last. Tells the schema's version.
// parameters: $holder, $batch
MERGE (w:Writer {name: 'consumer'})
SET w.holder = $holder, w.at = datetime(), w.epoch = coalesce(w.epoch, 0) + 1,
    w.batch = CASE WHEN $batch < 0 THEN w.batch ELSE $batch END
RETURN w.epoch AS epoch, w.horizon AS horizon, COLLECT { MATCH (s:HeadwaterSchema) RETURN coalesce(s.reached, s.version) }[0] AS schema
