// The transactions that write to the graph now, the one that began first foremost; `waits` for another to end.
// parameters: none
SHOW TRANSACTIONS YIELD metaData, status, startTime
WHERE metaData.writer IS NOT NULL
RETURN metaData.writer AS writer, status STARTS WITH 'Blocked' AS waits ORDER BY waits, startTime
