// Whether the graph answers at all.
// parameters: none
RETURN 1 AS one
