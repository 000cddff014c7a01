// The time before which retention has removed what was no longer valid (specification 10), in microseconds since 1970, or null.
// parameters: none
MATCH (w:Writer {name: 'consumer'})
RETURN w.horizon AS horizon
