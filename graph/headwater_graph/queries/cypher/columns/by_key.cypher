// The fields of some keys.
// parameters: keys
UNWIND $keys AS key
MATCH (f:Field {key: key})
RETURN collect({key: f.key, namespace: f.namespace, dataset: f.dataset, name: f.name}) AS rows
