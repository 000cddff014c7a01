// The records of some runs, and the dataset versions that they wrote, as lists: namespace, name, id.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys
UNWIND $keys AS key
MATCH (r:Run {key: key})
RETURN key, r.id AS id, r.record AS record, COLLECT {
  MATCH (r)-[:WROTE]->(v:DatasetVersion)
  MATCH (d:Dataset {key: v.dataset})
  RETURN [d.namespace, d.name, v.id]
} AS versions
