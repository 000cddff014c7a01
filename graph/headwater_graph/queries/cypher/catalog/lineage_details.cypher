// What a picture of lineage shows of some nodes beside their summaries: of jobs [key, facets, first version's time, parent, last
// run, its state, start, end and last event, inputs, outputs], of datasets [key, facets, schema, first version's time]; times as microseconds.
// parameters: jobs, datasets
CALL () {
  UNWIND $jobs AS pair
  MATCH (j:Job {key: pair[0]})
  OPTIONAL MATCH (r:Run {key: pair[1]})
  CALL (j) {
    OPTIONAL MATCH (first:JobVersion)
    WHERE first.job = j.key AND first.moment IS NOT NULL AND first.tie IS NOT NULL
    RETURN first.moment AS created ORDER BY first.job, first.moment, first.tie LIMIT 1
  }
  RETURN collect([
    j.key, j.facets, created, COLLECT { MATCH (j)-[:CHILD_OF]->(p:Job) RETURN p.name ORDER BY p.name LIMIT 1 }[0],
    r.id, r.state, r.startedAt, r.endedAt, r.lastEventAt,
    COLLECT { MATCH (d:Dataset)-[:FEEDS]->(j) RETURN [d.namespace, d.name] },
    COLLECT { MATCH (j)-[:PRODUCES]->(d:Dataset) RETURN [d.namespace, d.name] }
  ]) AS jobs
}
CALL () {
  UNWIND $datasets AS key
  MATCH (d:Dataset {key: key})
  OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
  CALL (d) {
    OPTIONAL MATCH (first:DatasetVersion)
    WHERE first.dataset = d.key AND first.moment IS NOT NULL AND first.tie IS NOT NULL
    RETURN first.moment AS created ORDER BY first.dataset, first.moment, first.tie LIMIT 1
  }
  RETURN collect([d.key, d.facets, v.schema, created]) AS datasets
}
RETURN jobs, datasets
