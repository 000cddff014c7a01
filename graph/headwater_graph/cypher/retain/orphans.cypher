// Return versions of some datasets that remain, that a removed run made, and that are not marked as retained.
// parameters: $keys, $horizon
UNWIND $keys AS key
MATCH (v:DatasetVersion)
  USING INDEX SEEK v:DatasetVersion(dataset, moment, tie)
WHERE v.tie IS NOT NULL AND v.dataset = key AND v.moment < $horizon AND v.retained IS NULL AND v.madeBy IS NOT NULL
  AND NOT EXISTS { (v)<-[:WROTE]-(r) WHERE r.record IS NOT NULL }
RETURN v.id AS id, v.madeBy AS madeBy
