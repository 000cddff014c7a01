// Return all column edges, for the dump.
// parameters: none
MATCH (s:Field)-[e:DERIVES]->(t:Field)
RETURN [s.namespace, s.dataset, s.name] AS source, [t.namespace, t.dataset, t.name] AS target, e.job AS job, e.type AS type,
       e.subtype AS subtype, e.masking AS masking, e.description AS description, e.undeclared AS undeclared
