// How many jobs and datasets there are.
// parameters: none
CALL () {
  MATCH (j:Job) RETURN count(j) AS jobs
}
CALL (jobs) {
  MATCH (d:Dataset) RETURN count(d) AS datasets
}
RETURN jobs, datasets
