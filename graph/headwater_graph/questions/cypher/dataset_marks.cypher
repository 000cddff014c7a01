// What one wants to know of some datasets at a glance, times as microseconds; facets only where they tell of owners.
// parameters: keys
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
RETURN collect({
  key: key,
  dropped: d.dropped,
  version: v.id,
  time: v.moment,
  run: v.madeBy,
  external: v.external,
  facets: CASE WHEN d.facets CONTAINS '"ownership"' THEN d.facets END
}) AS rows
