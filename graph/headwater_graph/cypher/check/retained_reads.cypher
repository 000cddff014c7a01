// Of some jobs what their current edges stand on and runs told that are gone.
// parameters: $keys
UNWIND $keys AS key
MATCH (j:Job {key: key})
WHERE j.retainedSources IS NOT NULL
RETURN j.retainedSources AS retainedSources
