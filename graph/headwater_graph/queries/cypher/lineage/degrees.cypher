// How many current edges lead from some nodes: datasets' readers, jobs' outputs.
// Upstream every arrow of data is reversed (reader.py).
// parameters: keys
UNWIND $keys AS at
OPTIONAL MATCH (d:Dataset {key: at})
OPTIONAL MATCH (j:Job {key: at})
RETURN at, COUNT { (d)-[:FEEDS]->() } + COUNT { (j)-[:PRODUCES]->() } AS total
