// How many versions a job has, and which of them are retained: [position among them, the oldest is 0; number].
// parameters: job
MATCH (v:JobVersion)
WHERE v.job = $job AND v.moment IS NOT NULL AND v.tie IS NOT NULL
WITH v ORDER BY v.job, v.moment, v.tie
WITH collect(coalesce(v.retainedNumber, 0)) AS numbers
RETURN size(numbers) AS total,
  [position IN range(0, size(numbers) - 1) WHERE numbers[position] > 0 | [position, numbers[position]]] AS retained
