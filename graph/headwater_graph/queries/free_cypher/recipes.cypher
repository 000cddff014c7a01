// Who writes a dataset now, since when, and in how many runs
// parameters: namespace, name
MATCH (d:Dataset {name: $name, namespace: $namespace})<-[e:PRODUCES]-(j:Job)-[:CURRENT]->(v:JobVersion)
RETURN j.namespace AS namespace, j.name AS job, e.since AS since, v.runs AS runs, v.lastRun AS lastRun
ORDER BY namespace, job

// Who reads a dataset now
// parameters: namespace, name
MATCH (d:Dataset {name: $name, namespace: $namespace})-[e:FEEDS]->(j:Job)
RETURN j.namespace AS namespace, j.name AS job, e.since AS since
ORDER BY namespace, job

// The datasets that a dataset is made from, up to three jobs back
// parameters: namespace, name
MATCH (d:Dataset {name: $name, namespace: $namespace})
MATCH (source:Dataset) (()-[:FEEDS]->(:Job)-[:PRODUCES]->()){1,3} (d)
RETURN DISTINCT source.namespace AS namespace, source.name AS dataset
ORDER BY namespace, dataset

// The datasets that are made from a dataset, up to three jobs downstream, with the least number of jobs between
// parameters: namespace, name
MATCH (d:Dataset {name: $name, namespace: $namespace})
MATCH (d) (()-[step:FEEDS]->(:Job)-[:PRODUCES]->()){1,3} (target:Dataset)
RETURN target.namespace AS namespace, target.name AS dataset, min(size(step)) AS jobs
ORDER BY jobs, namespace, dataset

// Datasets that several jobs write
// parameters: none
MATCH (d:Dataset)<-[:PRODUCES]-(j:Job)
WITH d, count(j) AS writers, collect(j.name) AS jobs WHERE writers > 1
RETURN d.namespace AS namespace, d.name AS dataset, jobs
ORDER BY size(jobs) DESC, namespace, dataset LIMIT 100

// Datasets that are written and that nobody reads
// parameters: none
MATCH (d:Dataset)<-[:PRODUCES]-(:Job)
WHERE NOT EXISTS { (d)-[:FEEDS]->() } AND NOT EXISTS { (d)-[:ALIAS_OF]-() }
RETURN DISTINCT d.namespace AS namespace, d.name AS dataset
ORDER BY namespace, dataset LIMIT 100

// Sources: datasets that are read and that no job writes now
// parameters: none
MATCH (d:Dataset)-[:FEEDS]->(:Job)
WHERE NOT EXISTS { (d)<-[:PRODUCES]-() }
RETURN DISTINCT d.namespace AS namespace, d.name AS dataset
ORDER BY namespace, dataset LIMIT 100

// The columns that a column is derived from, with the job and the kind of derivation
// parameters: namespace, dataset, column
MATCH (f:Field {namespace: $namespace, dataset: $dataset, name: $column})-[:FIELD_OF]->(d:Dataset)
MATCH (target:Field)-[:FIELD_OF]->(d) WHERE target.name IN [$column, '*']
MATCH (source:Field)-[e:DERIVES]->(target)
RETURN source.dataset AS dataset, source.name AS column, target.name AS of, e.job AS job, e.type AS type,
  e.subtype AS subtype, e.masking AS masking
ORDER BY dataset, column, of

// The columns that are derived from a column, up to three steps downstream
// parameters: namespace, dataset, column
MATCH (d:Dataset {name: $dataset, namespace: $namespace})<-[:FIELD_OF]-(f:Field {name: $column})
MATCH (f)-[:DERIVES]->{1,3}(target:Field)
RETURN DISTINCT target.namespace AS namespace, target.dataset AS dataset, target.name AS column
ORDER BY namespace, dataset, column

// Which run made the current version of a dataset, and its job
// parameters: namespace, name
MATCH (d:Dataset {name: $name, namespace: $namespace})-[:CURRENT]->(v:DatasetVersion)<-[:WROTE]-(r:Run)-[:RUN_OF]->(j:Job)
RETURN v.id AS version, v.at AS at, r.id AS run, r.state AS state, j.namespace AS namespace, j.name AS job

// What a run read, and which run had written that
// parameters: run
MATCH (r:Run {id: $run})<-[:READ_BY]-(v:DatasetVersion)<-[:HAS_VERSION]-(d:Dataset)
OPTIONAL MATCH (v)<-[:WROTE]-(w:Run)
RETURN d.namespace AS namespace, d.name AS dataset, v.at AS written, w.id AS by, w.state AS state
ORDER BY namespace, dataset

// All runs that a run depends on, up to five runs back
// parameters: run
MATCH (r:Run {id: $run})
MATCH (earlier:Run) (()-[:WROTE]->(:DatasetVersion)-[:READ_BY]->()){1,5} (r)
RETURN DISTINCT earlier.id AS run, earlier.state AS state, earlier.endedAt AS ended
ORDER BY ended DESC

// The versions of a job, the newest first
// parameters: namespace, name
MATCH (j:Job {name: $name, namespace: $namespace})-[:HAS_VERSION]->(v:JobVersion)
RETURN v.validFrom AS since, v.validTo AS until, v.codeVersion AS code, v.runs AS runs,
  COLLECT { MATCH (v)-[:HAS_INPUT]->(i) RETURN i.name ORDER BY i.name } AS inputs,
  COLLECT { MATCH (v)-[:HAS_OUTPUT]->(o) RETURN o.name ORDER BY o.name } AS outputs
ORDER BY since DESC

// Who wrote a dataset as of a time
// parameters: namespace, name, time
MATCH (d:Dataset {name: $name, namespace: $namespace})<-[:HAS_OUTPUT]-(v:JobVersion)<-[:HAS_VERSION]-(j:Job)
WHERE v.validFrom <= datetime($time) AND (v.validTo IS NULL OR datetime($time) < v.validTo)
RETURN j.namespace AS namespace, j.name AS job, v.validFrom AS since
ORDER BY namespace, job

// The latest runs that failed
// parameters: none
MATCH (r:Run {state: 'FAIL'})-[:RUN_OF]->(j:Job)
RETURN r.endedAt AS ended, j.namespace AS namespace, j.name AS job, r.id AS run, r.error AS error
ORDER BY ended DESC LIMIT 20

// The runs under a run, with their durations
// parameters: run
MATCH (:Run {id: $run})<-[:CHILD_OF]-{1,5}(r:Run)-[:RUN_OF]->(j:Job)
RETURN r.id AS run, j.name AS job, r.state AS state, duration.between(r.startedAt, r.endedAt) AS took
ORDER BY r.startedAt

// Jobs whose lineage is unknown
// parameters: none
MATCH (j:Job)-[:CURRENT]->(v:JobVersion {lineageUnknown: true})
RETURN j.namespace AS namespace, j.name AS job, v.validFrom AS since, v.lastRun AS lastRun
ORDER BY namespace, job LIMIT 100

// Jobs whose last run did not succeed
// parameters: none
MATCH (j:Job)-[:CURRENT]->(v:JobVersion)
WHERE v.lastRunState IN ['FAIL', 'ABORT']
RETURN j.namespace AS namespace, j.name AS job, v.lastRun AS run, v.lastRunAt AS at
ORDER BY at DESC LIMIT 100

// Runs whose events named more than one job
// parameters: none
MATCH (r:Run) WHERE r.conflicts IS NOT NULL
RETURN r.id AS run, r.conflicts AS alsoNamed, r.lastEventAt AS at
ORDER BY at DESC LIMIT 100

// Batch runs that have not ended and have sent no event for a day
// parameters: none
MATCH (r:Run)-[:RUN_OF]->(j:Job)
WHERE r.state IN ['NEW', 'RUNNING'] AND r.streaming IS NULL AND r.lastEventAt < datetime() - duration('P1D')
RETURN j.namespace AS namespace, j.name AS job, r.id AS run, r.lastEventAt AS heard
ORDER BY heard LIMIT 100

// The aliases of a dataset
// parameters: namespace, name
MATCH (d:Dataset {name: $name, namespace: $namespace})-[:ALIAS_OF]-{1,5}(other:Dataset)
WHERE other <> d
RETURN DISTINCT other.namespace AS namespace, other.name AS dataset
ORDER BY namespace, dataset

// The datasets that most jobs read
// parameters: none
MATCH (d:Dataset)
WITH d, COUNT { (d)-[:FEEDS]->() } AS readers WHERE readers > 0
RETURN d.namespace AS namespace, d.name AS dataset, readers
ORDER BY readers DESC, namespace, dataset LIMIT 20
