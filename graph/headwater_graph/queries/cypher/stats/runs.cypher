// How many runs started and ended since a time, by quarters of an hour since 1970: the hours of every time zone begin with one.
// parameters: since
MATCH (r:Run)
WHERE r.lastEventAt >= $since
UNWIND [['START', r.startedAt], [r.state, r.endedAt]] AS change
WITH change[0] AS type, change[1] AS at
WHERE at >= $since
RETURN type, at.epochSeconds / 900 AS quarter, count(*) AS count
