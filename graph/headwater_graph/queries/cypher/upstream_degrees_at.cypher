// How many edges lead to some nodes as of a time: jobs' reads, datasets' writers.
// parameters: keys, time
UNWIND $keys AS at
OPTIONAL MATCH (d:Dataset {key: at})
OPTIONAL MATCH (j:Job {key: at})
RETURN at,
  COUNT { (d)<-[:HAS_OUTPUT]-(v:JobVersion) WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo) }
  + COUNT { (j)-[:HAS_VERSION]->(v:JobVersion)-[:HAS_INPUT]->()
      WHERE v.validFrom <= $time AND (v.validTo IS NULL OR $time < v.validTo) } AS total
