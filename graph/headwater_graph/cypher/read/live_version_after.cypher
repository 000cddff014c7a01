// Return a row if a version that does not itself say DROP is later than a time (specification 7).
// parameters: $dataset, $time
MATCH (v:DatasetVersion)
  USING INDEX SEEK v:DatasetVersion(dataset, moment, tie)
WHERE v.tie IS NOT NULL AND v.dataset = $dataset AND v.moment > $time AND v.drops IS NULL
RETURN true AS found LIMIT 1
