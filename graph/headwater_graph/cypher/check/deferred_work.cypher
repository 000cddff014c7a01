// What kinds of work are still owed.
// parameters: none
MATCH (o:DeferredWork)
RETURN DISTINCT o.kind AS kind
