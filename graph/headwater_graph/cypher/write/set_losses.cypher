// Set which offsets Kafka had deleted before they were in the graph, as JSON [{topic, partition, begin, end, time}].
// parameters: $rows [{losses}], one row
UNWIND $rows AS row
MATCH (w:Writer {name: 'consumer'})
  USING INDEX SEEK w:Writer(name)
SET w.losses = row.losses
