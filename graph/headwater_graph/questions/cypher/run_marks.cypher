// State of some runs, and whether they stream.
// parameters: keys
UNWIND $keys AS key
MATCH (r:Run {key: key})
RETURN key, r.state AS state, r.streaming AS streaming
