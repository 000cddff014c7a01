// Return versions from before the horizon that can be removed: not current, not valid at the horizon, without a remaining maker or reader,
// and not the version on which a DROP depends. `at` is the horizon as [seconds, nanoseconds].
// parameters: $keys, $horizon, $at, $limit
WITH datetime({epochSeconds: $at[0], nanosecond: $at[1]}) AS horizon
UNWIND $keys AS key
MATCH (d:Dataset {key: key})
CALL (d, horizon) {
  MATCH (v:DatasetVersion)
    USING INDEX SEEK v:DatasetVersion(dataset, moment, tie)
  WHERE v.tie IS NOT NULL AND v.dataset = d.key AND v.moment < $horizon
    AND NOT EXISTS { (d)-[:CURRENT]->(v) }
    AND NOT EXISTS { (v)<-[:WROTE]-(r) WHERE r.record IS NOT NULL AND NOT (r.state IN ['COMPLETE', 'ABORT', 'FAIL'] AND r.lastEventAt < horizon) }
    AND NOT EXISTS { (v)-[:READ_BY]->(r) WHERE NOT (r.state IN ['COMPLETE', 'ABORT', 'FAIL'] AND r.lastEventAt < horizon) }
    AND EXISTS {
      MATCH (later:DatasetVersion)
        USING INDEX SEEK later:DatasetVersion(dataset, moment, tie)
      WHERE later.tie IS NOT NULL AND later.dataset = v.dataset AND later.moment >= v.moment AND later.moment < $horizon
        AND (later.moment > v.moment OR later.tie > v.tie
             OR (later.tie = v.tie AND coalesce(later.madeBy, later.text) > coalesce(v.madeBy, v.text)))
    }
    AND (d.saysDrop IS NULL OR v.drops = true OR EXISTS {
      MATCH (later:DatasetVersion)
        USING INDEX SEEK later:DatasetVersion(dataset, moment, tie)
      WHERE later.tie IS NOT NULL AND later.dataset = v.dataset AND later.moment >= v.moment AND later.drops IS NULL
        AND (later.moment > v.moment OR later.tie > v.tie
             OR (later.tie = v.tie AND coalesce(later.madeBy, later.text) > coalesce(v.madeBy, v.text)))
    })
  RETURN v LIMIT $limit
}
RETURN d.key AS dataset, v.id AS id, v.moment AS moment, v.madeBy AS madeBy LIMIT $limit
