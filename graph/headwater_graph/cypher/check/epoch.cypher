// Return how often the graph was written to.
// parameters: none
MATCH (w:Writer {name: 'consumer'})
RETURN w.epoch AS epoch
