// Before which time retention has removed what was no longer valid (specification 7), in microseconds since 1970; null: it never has.
// parameters: none
MATCH (w:Writer {name: 'consumer'})
RETURN w.horizon AS horizon
