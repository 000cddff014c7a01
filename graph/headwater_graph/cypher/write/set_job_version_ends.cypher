// Set where job versions end, or that they have no end yet (specification 4.2). `endAt` is [seconds, nanoseconds].
// parameters: $rows [{id, end?, endAt?}]
UNWIND $rows AS row
MATCH (v:JobVersion {id: row.id})
  USING INDEX SEEK v:JobVersion(id)
SET v.end = row.end, v.validTo = CASE WHEN row.endAt IS NULL THEN null ELSE datetime({epochSeconds: row.endAt[0], nanosecond: row.endAt[1]}) END
