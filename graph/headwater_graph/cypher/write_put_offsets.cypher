// Say up to which offsets messages are in the graph: a consumer that starts goes on from there. JSON, {topic: {partition: offset}}.
// parameters: $rows [{offsets}], one row
UNWIND $rows AS row
MATCH (w:Writer {name: 'consumer'})
SET w.offsets = row.offsets
