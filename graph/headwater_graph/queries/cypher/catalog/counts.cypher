// How many jobs, datasets and runs there are.
// parameters: none
CALL () {
  MATCH (j:Job) RETURN count(j) AS jobs
}
CALL (jobs) {
  MATCH (d:Dataset) RETURN count(d) AS datasets
}
CALL (jobs, datasets) {
  MATCH (r:Run) RETURN count(r) AS runs
}
RETURN jobs, datasets, runs
