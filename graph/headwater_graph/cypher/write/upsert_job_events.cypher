// Upsert JobEvents: they are part of every later fold of their jobs (specification 4.4).
// parameters: $rows [{key, job, moment, tie, text}]
UNWIND $rows AS row
MERGE (e:JobEvent {key: row.key})
SET e.job = row.job, e.moment = row.moment, e.tie = row.tie, e.text = row.text
