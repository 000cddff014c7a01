// Return the kinds of deferred work that there are.
// parameters: none
MATCH (o:DeferredWork)
RETURN DISTINCT o.kind AS kind
