// Jobs with their current versions.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (j:Job {key: row.key})
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
RETURN j.namespace AS namespace, j.name AS name, j.record AS record, j.fold AS fold,
       v.id AS id, v.moment AS moment, v.madeBy AS madeBy, v.text AS text, v.lineage AS lineage, v.lineageUnknown AS lineageUnknown,
       v.codeVersion AS codeVersion, v.codeMoment AS codeMoment, v.codeTie AS codeTie
