// The runs that read some dataset versions, at most `fan` of each; `total` is how many there are.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys, fan, rows
UNWIND $keys AS at
MATCH (v:DatasetVersion {id: at})
CALL (v) {
  MATCH (v)-[:READ_BY]->(r:Run)
  RETURN r LIMIT $fan
}
RETURN at, r.key AS key, COUNT { (v)-[:READ_BY]->() } AS total
LIMIT $rows
