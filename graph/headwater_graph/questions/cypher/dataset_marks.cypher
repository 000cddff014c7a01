// What one wants to know of some datasets at a glance, times as microseconds; facets only where they tell of owners.
// parameters: keys
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
RETURN key, d.dropped AS dropped, v.id AS version, v.moment AS time, v.madeBy AS run, v.external AS external,
  CASE WHEN d.facets CONTAINS '"ownership"' THEN d.facets END AS facets
