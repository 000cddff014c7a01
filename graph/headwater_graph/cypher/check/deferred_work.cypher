// What kinds of work are still owed.
// parameters: none
MATCH (o:Owed)
RETURN DISTINCT o.kind AS kind
