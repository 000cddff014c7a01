// State of some runs, and whether they stream.
// parameters: keys
UNWIND $keys AS key
MATCH (r:Run {key: key})
RETURN collect({
  key: key,
  state: r.state,
  streaming: r.streaming
}) AS rows
