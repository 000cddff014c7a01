// How many edges lead from some nodes as of a time: datasets' readers, jobs' outputs.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys, time
UNWIND $keys AS at
OPTIONAL MATCH (d:Dataset {key: at})
OPTIONAL MATCH (j:Job {key: at})
RETURN at,
  COUNT { (d)<-[:HAS_INPUT]-(v:JobVersion) WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo) }
  + COUNT { (j)-[:HAS_VERSION]->(v:JobVersion)-[:HAS_OUTPUT]->()
      WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo) } AS total
