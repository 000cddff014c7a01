// Return all JobEvents with the versions that they belong to.
// parameters: none
MATCH (e:JobEvent)
RETURN e.text AS text, e.job AS job, e.moment AS moment, e.version AS version
