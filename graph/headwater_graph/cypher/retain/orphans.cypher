// Versions of some datasets, made by runs that are gone, that stay and are not marked as kept yet.
// parameters: $keys, $horizon
UNWIND $keys AS key
MATCH (v:DatasetVersion)
  USING INDEX SEEK v:DatasetVersion(dataset, moment, tie)
WHERE v.tie IS NOT NULL AND v.dataset = key AND v.moment < $horizon AND v.retained IS NULL AND v.madeBy IS NOT NULL
  AND NOT EXISTS { (v)<-[:WROTE]-(r) WHERE r.record IS NOT NULL }
RETURN v.id AS id, v.madeBy AS madeBy
