// Set which batch is done (query/batch), up to which offsets messages are in the graph, and Kafka's ids of the topics, as JSON objects.
// parameters: $rows [{offsets, done, topics}], one row
UNWIND $rows AS row
MATCH (w:Writer {name: 'consumer'})
  USING INDEX SEEK w:Writer(name)
SET w.offsets = row.offsets, w.done = row.done, w.topics = row.topics
