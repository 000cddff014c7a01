// Which of some jobs have a batch run that has not ended and of which nothing was heard since a time (SPEC 2.9).
// parameters: keys, before
UNWIND $keys AS key
MATCH (j:Job {key: key})
WHERE EXISTS {
  MATCH (j)<-[:RUN_OF]-(r:Run)
  WHERE r.state IN ['NEW', 'RUNNING'] AND r.streaming IS NULL AND r.lastEventAt < $before
}
RETURN key
