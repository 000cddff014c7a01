// Return all job versions, by job and start, for the dump.
// parameters: none
MATCH (j:Job)
CALL (j) {
  MATCH (v:JobVersion)
  USING INDEX SEEK v:JobVersion(job, moment, tie)
  WHERE v.tie IS NOT NULL AND v.job = j.key AND v.moment IS NOT NULL
  RETURN v ORDER BY v.moment, v.tie, coalesce(v.madeBy, v.text)
}
RETURN [j.namespace, j.name] AS job, v.id AS id, v.moment AS moment, v.end AS end, v.madeBy AS madeBy,
       v.codeVersion AS codeVersion, v.lineageUnknown AS lineageUnknown, v.lineage AS lineage, v.runs AS runs,
       v.retainedNumber AS retainedNumber
