// What a picture of lineage shows of some nodes beside their summaries: of jobs [key, facets, first version's time, parent, last
// run, its state, start, end and last event, inputs, outputs], of datasets [key, facets, schema, first version's time]; times as microseconds.
// Facets are null where they contain none of `names`: their texts are long. A datetime takes the driver far longer than a number.
// parameters: jobs, datasets, names
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
    j.key, CASE WHEN any(name IN $names WHERE j.facets CONTAINS name) THEN j.facets END, created, COLLECT { MATCH (j)-[:CHILD_OF]->(p:Job) RETURN p.name ORDER BY p.name LIMIT 1 }[0],
    r.id, r.state, r.startedAt.epochSeconds * 1000000 + r.startedAt.microsecond,
    r.endedAt.epochSeconds * 1000000 + r.endedAt.microsecond, r.lastEventAt.epochSeconds * 1000000 + r.lastEventAt.microsecond,
    COLLECT { MATCH (d:Dataset)-[:FEEDS]->(j) RETURN [d.namespace, d.name] },
    COLLECT { MATCH (j)-[:PRODUCES]->(d:Dataset) RETURN [d.namespace, d.name] }
  ]) AS jobs
}
CALL (jobs) {
  UNWIND $datasets AS key
  MATCH (d:Dataset {key: key})
  OPTIONAL MATCH (d)-[:CURRENT]->(v:DatasetVersion)
  CALL (d) {
    OPTIONAL MATCH (first:DatasetVersion)
    WHERE first.dataset = d.key AND first.moment IS NOT NULL AND first.tie IS NOT NULL
    RETURN first.moment AS created ORDER BY first.dataset, first.moment, first.tie LIMIT 1
  }
  RETURN collect([
    d.key, CASE WHEN v.schema IS NULL OR any(name IN $names WHERE d.facets CONTAINS name) THEN d.facets END, v.schema, created
  ]) AS datasets
}
RETURN jobs, datasets
