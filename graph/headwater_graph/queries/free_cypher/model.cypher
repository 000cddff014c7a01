// The lineage graph, version 4 of its model. Arrows run as data flows; times are ZONED DATETIME in UTC. What is not named
// here is internal. Find a job or dataset by {name: …, namespace: …}: names are indexed, `key` is a hash of both.
//
// nodes
//   (:Job {namespace, name, facets, owners, streaming, key})    facets: JSON text; owners: a list of names, or absent
//   (:Dataset {namespace, name, facets, owners, dropped, key})  streaming, dropped: true, or absent
//   (:Field {namespace, dataset, name, key})            the name * means all columns
//   (:Run {id, state, startedAt, endedAt, lastEventAt, streaming, lineageUnknown, codeVersion, conflicts, error, placeholder, job, key})
//   (:JobVersion {id, validFrom, validTo, madeBy, codeVersion, lineageUnknown, runs, lastRun, lastRunAt, lastRunState, lastRunStreaming})
//   (:DatasetVersion {id, at, madeBy, state, external, schema})
//
// the current graph
//   (:Dataset)-[:FEEDS {version, since}]->(:Job)-[:PRODUCES {version, since, inputs}]->(:Dataset)
//                                                       inputs: JSON text, only these feed the output; absent: all do
//   (:Field)-[:DERIVES {job, type, subtype, masking, description, undeclared}]->(:Field)
//   (:Field)-[:FIELD_OF]->(:Dataset)
//   (:Dataset)-[:ALIAS_OF]->(:Dataset)                  aliases of one dataset, to be followed in both directions
//
// runs and versions
//   (:DatasetVersion)-[:READ_BY]->(:Run)-[:WROTE]->(:DatasetVersion)
//   (:Run)-[:RUN_OF]->(:Job)    (:Run)-[:RAN]->(:JobVersion)    (:Run)-[:CHILD_OF]->(:Run)    (:Job)-[:CHILD_OF]->(:Job)
//   (:Job)-[:HAS_VERSION]->(:JobVersion)                (:Job)-[:CURRENT]->(:JobVersion)
//   (:JobVersion)-[:HAS_INPUT]->(:Dataset)              (:JobVersion)-[:HAS_OUTPUT]->(:Dataset)
//   (:Dataset)-[:HAS_VERSION]->(:DatasetVersion)        (:Dataset)-[:CURRENT]->(:DatasetVersion)
