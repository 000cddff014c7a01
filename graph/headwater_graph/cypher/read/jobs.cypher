// Return jobs with their current versions.
// parameters: $rows [{key}]
UNWIND $rows AS row
MATCH (j:Job {key: row.key})
  USING INDEX SEEK j:Job(key)
OPTIONAL MATCH (j)-[:CURRENT]->(v:JobVersion)
RETURN collect({namespace: j.namespace, name: j.name, record: j.record, fold: j.fold, retainedSources: j.retainedSources,
                id: v.id, moment: v.moment, madeBy: v.madeBy, text: v.text, lineage: v.lineage, lineageUnknown: v.lineageUnknown,
                codeVersion: v.codeVersion, codeMoment: v.codeMoment, codeTie: v.codeTie,
                retainedNumber: v.retainedNumber, retainedRuns: v.retainedRuns, retainedLastRun: v.retainedLastRun,
                retainedLastMoment: v.retainedLastMoment}) AS rows
