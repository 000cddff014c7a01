// The last run of a job that was COMPLETE before a moment.
// parameters: job, moment, tie
MATCH (r:Run)
WHERE r.job = $job AND r.moment <= $moment AND r.tie IS NOT NULL AND (r.moment < $moment OR r.tie < $tie)
  AND r.state = 'COMPLETE'
RETURN r.key AS key, r.id AS id
ORDER BY r.job DESC, r.moment DESC, r.tie DESC LIMIT 1
