// Succeeds if the graph answers.
// parameters: none
RETURN 1 AS answer
