// Lock the node of the writer, and store who writes which batch (-1: none, the last number remains); return the schema version.
// parameters: $holder, $batch
MERGE (w:Writer {name: 'consumer'})
SET w.holder = $holder, w.at = datetime(), w.epoch = coalesce(w.epoch, 0) + 1,
    w.batch = CASE WHEN $batch < 0 THEN w.batch ELSE $batch END
RETURN w.epoch AS epoch, w.horizon AS horizon, COLLECT { MATCH (s:HeadwaterSchema) RETURN coalesce(s.reached, s.version) }[0] AS schema
