// How much work the writer still owes: answers are final when there is none.
// parameters: none
MATCH (o:DeferredWork)
RETURN count(o) AS owed
