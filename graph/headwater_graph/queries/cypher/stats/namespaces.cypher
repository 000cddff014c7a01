// How many datasets each namespace has.
// parameters: none
MATCH (d:Dataset)
RETURN d.namespace AS namespace, count(*) AS datasets
