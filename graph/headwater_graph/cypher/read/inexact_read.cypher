// Return a row if any run reads a dataset without naming an external version (specification 5.5).
// parameters: $dataset, $earliest
MATCH ()-[e:READ_BY]->()
  USING INDEX SEEK e:READ_BY(dataset, moment)
WHERE e.dataset = $dataset AND e.moment >= $earliest
RETURN true AS found LIMIT 1
