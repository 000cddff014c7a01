// How many versions a job has, and which of them retention has kept: [place among them, the oldest is 0; number].
// parameters: job
MATCH (v:JobVersion)
WHERE v.job = $job AND v.moment IS NOT NULL AND v.tie IS NOT NULL
WITH v ORDER BY v.job, v.moment, v.tie
WITH collect(coalesce(v.retainedNumber, 0)) AS kept
RETURN size(kept) AS total, [place IN range(0, size(kept) - 1) WHERE kept[place] > 0 | [place, kept[place]]] AS kept
