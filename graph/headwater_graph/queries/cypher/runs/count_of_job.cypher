// How many runs a job has.
// parameters: job
MATCH (:Job {key: $job})<-[:RUN_OF]-(r:Run) WHERE r.lastEventAt IS NOT NULL
RETURN count(r) AS total
