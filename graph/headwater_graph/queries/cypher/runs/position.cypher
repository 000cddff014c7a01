// The position of a run in the fold of its job.
// parameters: key
MATCH (r:Run {key: $key})
RETURN r.job AS job, r.moment AS moment, r.lastEventAt AS lastEventAt
