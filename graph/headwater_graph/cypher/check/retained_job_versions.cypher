// Return the job versions that retention retained, with the state from which the fold continues; `retainedLastRun` is the last
// removed run.
// parameters: none
MATCH (v:JobVersion)
WHERE v.retainedNumber IS NOT NULL
MATCH (j:Job {key: v.job})
RETURN [j.namespace, j.name] AS job, v.id AS id, v.moment AS moment, v.madeBy AS madeBy, v.text AS text, v.lineage AS lineage,
       v.lineageUnknown AS lineageUnknown, v.codeVersion AS codeVersion, v.codeMoment AS codeMoment, v.codeTie AS codeTie,
       v.retainedNumber AS retainedNumber, v.retainedRuns AS retainedRuns, v.retainedLastRun AS retainedLastRun, v.retainedLastMoment AS retainedLastMoment
