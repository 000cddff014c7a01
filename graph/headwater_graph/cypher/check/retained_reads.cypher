// Return the lineage that removed runs reported and that the current edges of some jobs depend on.
// parameters: $keys
UNWIND $keys AS key
MATCH (j:Job {key: key})
WHERE j.retainedSources IS NOT NULL
RETURN j.retainedSources AS retainedSources
