// How much deferred work there is: answers do not change without new events when there is none.
// parameters: none
MATCH (o:DeferredWork)
RETURN count(o) AS deferred
