// The status of some datasets, as lists: key, dropped, current version, its moment (microseconds),
// run and external name, owners.
// parameters: keys
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
RETURN collect([key, d.dropped, v.id, v.moment, v.madeBy, v.external, d.owners]) AS status
