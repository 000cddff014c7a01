// The lineage graph: uniqueness and indexes. One statement per paragraph, each safe to run again.
// `key` is a hash of the canonical key (names of 2,000 characters do not fit an index); `namespace`, `name` and `id` are plain.
// parameters: none

CREATE CONSTRAINT job_key IF NOT EXISTS FOR (n:Job) REQUIRE n.key IS UNIQUE;

CREATE CONSTRAINT dataset_key IF NOT EXISTS FOR (n:Dataset) REQUIRE n.key IS UNIQUE;

CREATE CONSTRAINT field_key IF NOT EXISTS FOR (n:Field) REQUIRE n.key IS UNIQUE;

CREATE CONSTRAINT run_key IF NOT EXISTS FOR (n:Run) REQUIRE n.key IS UNIQUE;

CREATE CONSTRAINT job_version_id IF NOT EXISTS FOR (n:JobVersion) REQUIRE n.id IS UNIQUE;

CREATE CONSTRAINT dataset_version_id IF NOT EXISTS FOR (n:DatasetVersion) REQUIRE n.id IS UNIQUE;

CREATE CONSTRAINT job_event_key IF NOT EXISTS FOR (n:JobEvent) REQUIRE n.key IS UNIQUE;

CREATE CONSTRAINT dataset_event_key IF NOT EXISTS FOR (n:DatasetEvent) REQUIRE n.key IS UNIQUE;

CREATE CONSTRAINT writer_name IF NOT EXISTS FOR (n:Writer) REQUIRE n.name IS UNIQUE;

CREATE CONSTRAINT deferred_work_key IF NOT EXISTS FOR (n:DeferredWork) REQUIRE n.key IS UNIQUE;

CREATE INDEX run_fold IF NOT EXISTS FOR (n:Run) ON (n.job, n.moment, n.tie);

CREATE INDEX job_event_fold IF NOT EXISTS FOR (n:JobEvent) ON (n.job, n.moment, n.tie);

CREATE INDEX job_version_fold IF NOT EXISTS FOR (n:JobVersion) ON (n.job, n.moment, n.tie);

CREATE INDEX dataset_version_moment IF NOT EXISTS FOR (n:DatasetVersion) ON (n.dataset, n.moment, n.tie);

CREATE INDEX dataset_version_external IF NOT EXISTS FOR (n:DatasetVersion) ON (n.dataset, n.externalKey, n.moment, n.tie);

CREATE INDEX read_by_moment IF NOT EXISTS FOR ()-[e:READ_BY]-() ON (e.dataset, e.moment);

CREATE INDEX read_by_exact_moment IF NOT EXISTS FOR ()-[e:READ_BY]-() ON (e.dataset, e.exactMoment);

CREATE INDEX read_by_external IF NOT EXISTS FOR ()-[e:READ_BY]-() ON (e.dataset, e.externalKey, e.exactMoment);

CREATE INDEX field_of IF NOT EXISTS FOR (n:Field) ON (n.of);

CREATE INDEX derives_owner IF NOT EXISTS FOR ()-[e:DERIVES]-() ON (e.owner);

CREATE INDEX job_name IF NOT EXISTS FOR (n:Job) ON (n.name);

CREATE INDEX dataset_name IF NOT EXISTS FOR (n:Dataset) ON (n.name);

CREATE INDEX run_heard IF NOT EXISTS FOR (n:Run) ON (n.lastEventAt);

CREATE INDEX run_state IF NOT EXISTS FOR (n:Run) ON (n.state, n.lastEventAt);

CREATE INDEX run_id IF NOT EXISTS FOR (n:Run) ON (n.id);
