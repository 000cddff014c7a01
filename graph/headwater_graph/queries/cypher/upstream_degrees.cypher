// How many current edges lead to some nodes: jobs' reads, datasets' writers.
// parameters: keys
UNWIND $keys AS at
OPTIONAL MATCH (d:Dataset {key: at})
OPTIONAL MATCH (j:Job {key: at})
RETURN at, COUNT { (d)<-[:PRODUCES]-() } + COUNT { (j)<-[:FEEDS]-() } AS total
