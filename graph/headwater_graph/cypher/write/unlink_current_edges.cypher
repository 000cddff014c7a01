// Unlink jobs from their current inputs and outputs, which are then linked again as a set (specification 6.1).
// parameters: $rows [{job}]
UNWIND $rows AS row
MATCH (j:Job {key: row.job})
  USING INDEX SEEK j:Job(key)
CALL (j) {
  MATCH (j)-[e:PRODUCES]->()
  DELETE e
}
CALL (j) {
  MATCH (j)<-[e:FEEDS]-()
  DELETE e
}
