// Set which batch is done (query/batch), and up to which offsets messages are in the graph, as JSON {topic: {partition: offset}}.
// parameters: $rows [{offsets, done}], one row
UNWIND $rows AS row
MATCH (w:Writer {name: 'consumer'})
  USING INDEX SEEK w:Writer(name)
SET w.offsets = row.offsets, w.done = row.done
