// Return the transactions that write to the graph now, the oldest first; `waits`: blocked by another transaction.
// parameters: none
SHOW TRANSACTIONS YIELD metaData, status, startTime
WHERE metaData.writer IS NOT NULL
RETURN metaData.writer AS writer, status STARTS WITH 'Blocked' AS waits ORDER BY waits, startTime
