// Return the records of some runs.
// parameters: $keys
UNWIND $keys AS key
MATCH (r:Run {key: key})
WHERE r.record IS NOT NULL
RETURN r.id AS id, r.record AS record
