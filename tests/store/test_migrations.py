"""A graph of an older schema is migrated version by version; a newer graph is not changed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import neo4j
import pytest
from click.testing import CliRunner

from headwater_avro.errors import ConfigError
from headwater_cli.operations.graph import graph as command
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings
from headwater_graph.store import schema
from headwater_graph.store.migrations import MIGRATIONS, Migration
from headwater_graph.store.neo4j_store import Neo4jStore

from ..servers import Servers
from .empty import emptied, opened

pytestmark = pytest.mark.end_to_end

STEPS = (
    Migration("colours get a shade", ("MATCH (n:Job) SET n.shade = coalesce(n.shade, 0) + 1",)),
    Migration("shades are indexed", ("CREATE INDEX test_shade IF NOT EXISTS FOR (n:Job) ON (n.shade)", "RETURN 1")),
)


@pytest.fixture
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        run(emptied(store), "CREATE (:Job {key: 'k', namespace: 'n', name: 'j'})")
        run(store, "MATCH (s:HeadwaterSchema) SET s.version = 1, s.reached = null")
        yield store
        run(store, "DROP INDEX test_shade IF EXISTS")
        # Deferred work that cannot be decoded would end whoever writes next.
        emptied(store)
        run(store, "MERGE (s:HeadwaterSchema) SET s.version = $version, s.reached = null", version=schema.VERSION)


def run(store: Neo4jStore, query: str, **parameters: object) -> list[object]:
    with store.driver.session(database="neo4j") as session:
        return [record[0] for record in session.run(query, parameters)]


def version_of(store: Neo4jStore) -> list[object]:
    return run(store, schema.STORED)


def test_an_older_graph_is_refused_until_it_is_migrated(graph: Neo4jStore) -> None:
    where = graph.settings
    with pytest.raises(ConfigError, match="headwater graph migrate"):
        schema.init(where, STEPS)
    assert [version for version, _ in schema.pending(where, STEPS)] == [2, 3]
    assert version_of(graph) == [1], "the pending migrations changed the graph"
    assert [step.purpose for _, step in schema.migrate(where, STEPS)] == [step.purpose for step in STEPS]
    assert version_of(graph) == [3]
    assert run(graph, "MATCH (j:Job) RETURN j.shade") == [1]
    assert run(graph, "SHOW INDEXES YIELD name WHERE name = 'test_shade' RETURN name") == ["test_shade"]
    assert schema.init(where, STEPS) > 0
    assert list(schema.migrate(where, STEPS)) == []
    assert run(graph, "MATCH (j:Job) RETURN j.shade") == [1]


def test_an_interrupted_migration_continues_with_the_first_incomplete_version(graph: Neo4jStore) -> None:
    broken = (
        STEPS[0],
        Migration("breaks", ("CREATE INDEX test_shade IF NOT EXISTS FOR (n:Job) ON (n.shade)", "RETURN x")),
    )
    with pytest.raises(Exception, match="x"):
        list(schema.migrate(graph.settings, broken))
    assert version_of(graph) == [2]
    assert [version for version, _ in schema.migrate(graph.settings, STEPS)] == [3]
    assert run(graph, "MATCH (j:Job) RETURN j.shade") == [1], "a completed step was run again"


def test_an_older_headwater_refuses_a_graph_during_its_migration(graph: Neo4jStore) -> None:
    seen: list[object] = []

    def check_version(session: neo4j.Session) -> None:
        seen.append(session.run("MATCH (s:HeadwaterSchema) RETURN s.version").single(strict=True)["s.version"])
        with pytest.raises(ConfigError, match="schema version 1, this headwater needs"), graph.transaction():
            pass

    list(schema.migrate(graph.settings, (Migration("is checked", (check_version,)), *STEPS)))
    assert seen == [4]
    assert run(graph, "MATCH (s:HeadwaterSchema) RETURN [s.version, s.reached]") == [[4, None]]


def test_a_migration_waits_for_the_writer(graph: Neo4jStore) -> None:
    run(graph, "MATCH (s:HeadwaterSchema) SET s.version = $version", version=schema.VERSION)
    writes = {"upsert_named_jobs": [{"key": "test-last", "namespace": "n", "name": "last"}]}
    steps = (*MIGRATIONS, STEPS[0])
    with ThreadPoolExecutor(1) as thread:
        with graph.transaction() as tx:
            tx.write(writes)
            led = thread.submit(lambda: list(schema.migrate(graph.settings, steps)))
            assert wait([led], timeout=1).not_done, "it did not wait"
        led.result(timeout=60)
    assert run(graph, "MATCH (j:Job {key: 'test-last'}) RETURN j.shade") == [1]


def test_a_newer_graph_is_not_changed(graph: Neo4jStore) -> None:
    run(graph, "MERGE (s:HeadwaterSchema) SET s.version = 7")
    for call in (schema.init, schema.pending, lambda where: list(schema.migrate(where))):
        with pytest.raises(ConfigError, match=f"schema version 7, this headwater knows {schema.VERSION}"):
            call(graph.settings)
    assert version_of(graph) == [7]


def test_a_graph_without_a_schema_has_nothing_to_migrate(graph: Neo4jStore) -> None:
    run(graph, "MATCH (s:HeadwaterSchema) DELETE s")
    assert schema.pending(graph.settings, STEPS) == []
    assert schema.init(graph.settings, STEPS) > 0
    assert version_of(graph) == [3]
    run(graph, "MATCH (s:HeadwaterSchema) DELETE s")
    schema.init(graph.settings)
    assert version_of(graph) == [schema.VERSION]


def test_the_command_shows_the_steps_and_applies_them_with_an_option(
    graph: Neo4jStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_steps(settings: GraphSettings) -> list[tuple[int, Migration]]:
        return pending(settings, STEPS)

    def by_steps(settings: GraphSettings) -> Iterator[tuple[int, Migration]]:
        return migrate(settings, STEPS)

    pending, migrate = schema.pending, schema.migrate
    monkeypatch.setattr("headwater_cli.operations.graph_migrate.graph_location", lambda: graph.settings)
    monkeypatch.setattr(schema, "pending", of_steps)
    monkeypatch.setattr(schema, "migrate", by_steps)
    shown = CliRunner().invoke(command, ["migrate"], catch_exceptions=False)
    assert "would do version 2: colours get a shade" in shown.output
    assert "--apply" in shown.output
    assert version_of(graph) == [1]
    done = CliRunner().invoke(command, ["migrate", "--apply", "--json"], catch_exceptions=False)
    assert '"applied": true' in done.output
    assert version_of(graph) == [3]
    assert "nothing to do" in CliRunner().invoke(command, ["migrate"], catch_exceptions=False).output


def test_a_writer_checks_the_version_in_each_transaction(graph: Neo4jStore) -> None:
    writes = {"upsert_named_jobs": [{"key": "test-late", "namespace": "n", "name": "late"}]}
    for version in (schema.VERSION + 1, 1):
        run(graph, "MATCH (s:HeadwaterSchema) SET s.version = $version", version=version)
        with pytest.raises(ConfigError, match=f"schema version {version}"), graph.transaction() as tx:
            tx.write(writes)
        assert run(graph, "MATCH (j:Job {key: 'test-late'}) RETURN 1") == []
    list(schema.migrate(graph.settings))
    with graph.transaction() as tx:
        tx.write(writes)
    assert run(graph, "MATCH (j:Job {key: 'test-late'}) RETURN 1") == [1]


def test_queries_are_refused_until_the_graph_is_migrated(graph: Neo4jStore) -> None:
    with Neo4jReader(graph.settings) as reader:
        with pytest.raises(ConfigError, match="headwater graph migrate"):
            reader.rows("lineage/deferred_work")
        assert reader.run("MATCH (j:Job) RETURN j.name AS name", {})[0]["name"] == "j"
        list(schema.migrate(graph.settings))
        assert reader.rows("lineage/deferred_work")[0]["deferred"] == 0


VERSION_3 = """
MATCH (s:HeadwaterSchema) SET s.version = 3, s.reached = null
CREATE (j:Job {key: 'j1', namespace: 'n', name: 'job', glance: '["job"]', past: $bytes, facets: '{}'})
CREATE (:Job {key: 'j2', namespace: 'n', name: 'other', summary: '["new"]'})
CREATE (:Dataset {key: 'd1', namespace: 'n', name: 'table', glance: '["dataset"]', past: '[1,"r",null]'})
CREATE (:DatasetVersion {id: 'dv1', kept: true}), (:DatasetVersion {id: 'dv2'})
CREATE (:JobVersion {id: 'jv1', keptNumber: 3, keptRuns: 2, keptLastRun: 'r', keptLastMoment: 7}), (:JobVersion {id: 'jv2'})
CREATE (:Owed {key: 'w1', kind: 'retain', body: $bytes}), (:Owed {key: 'w2', kind: 'fold', body: $bytes})
"""
NODES = """
MATCH (n:Job|Dataset|DatasetVersion|JobVersion|Owed|DeferredWork)
WHERE coalesce(n.key, n.id) <> 'k'
RETURN [coalesce(n.key, n.id), labels(n), n {.*, key: null, id: null, namespace: null, name: null, facets: null}] AS node
"""
VERSION_4 = {
    "j1": (["Job"], {"summary": '["job"]', "retainedSources": b"packed"}),
    "j2": (["Job"], {"summary": '["new"]'}),
    "d1": (["Dataset"], {"summary": '["dataset"]', "retainedRead": '[1,"r",null]'}),
    "dv1": (["DatasetVersion"], {"retained": True}),
    "dv2": (["DatasetVersion"], {}),
    "jv1": (
        ["JobVersion"],
        {"retainedNumber": 3, "retainedRuns": 2, "retainedLastRun": "r", "retainedLastMoment": 7},
    ),
    "jv2": (["JobVersion"], {}),
    "w1": (["DeferredWork"], {"kind": "retain", "body": b"packed"}),
    "w2": (["DeferredWork"], {"kind": "fold", "body": b"packed"}),
}


def nodes(store: Neo4jStore) -> dict[str, tuple[list[str], dict[str, object]]]:
    with store.driver.session(database="neo4j") as session:
        rows = [record["node"] for record in session.run(NODES)]
    return {key: (labels, {name: v for name, v in found.items() if v is not None}) for key, labels, found in rows}


def constraints(store: Neo4jStore) -> set[object]:
    return set(
        run(store, "SHOW CONSTRAINTS YIELD name WHERE name ENDS WITH 'work_key' OR name = 'owed_key' RETURN name")
    )


def of_version_3(store: Neo4jStore) -> None:
    run(store, "DROP CONSTRAINT deferred_work_key IF EXISTS")
    run(store, "CREATE CONSTRAINT owed_key IF NOT EXISTS FOR (n:Owed) REQUIRE n.key IS UNIQUE")
    run(store, VERSION_3, bytes=b"packed")


def test_version_4_renames_labels_and_properties_and_changes_no_value(graph: Neo4jStore) -> None:
    of_version_3(graph)
    assert [version for version, _ in schema.migrate(graph.settings, MIGRATIONS[:3])] == [4]
    assert nodes(graph) == VERSION_4
    assert constraints(graph) == {"deferred_work_key"}


@pytest.mark.parametrize("done", range(len(MIGRATIONS[2].parts)))
def test_an_interrupted_migration_to_version_4_is_completed(graph: Neo4jStore, done: int) -> None:
    of_version_3(graph)
    step = MIGRATIONS[2]
    interrupted = (*MIGRATIONS[:2], Migration(step.purpose, (*step.parts[: done + 1], "RETURN x")))
    with pytest.raises(Exception, match="x"):
        list(schema.migrate(graph.settings, interrupted))
    # An interrupted statement on many nodes leaves some of them renamed: here all, and another one with the old name.
    run(graph, "MATCH (n:DeferredWork {key: 'w2'}) SET n:Owed REMOVE n:DeferredWork")
    with pytest.raises(ConfigError, match="schema version 3, this headwater needs 4"), graph.transaction():
        pass
    assert [version for version, _ in schema.migrate(graph.settings, MIGRATIONS[:3])] == [4]
    assert nodes(graph) == VERSION_4
    assert constraints(graph) == {"deferred_work_key"}


def test_a_headwater_of_version_3_refuses_a_graph_of_version_4(graph: Neo4jStore) -> None:
    of_version_3(graph)
    list(schema.migrate(graph.settings, MIGRATIONS[:3]))
    with pytest.raises(ConfigError, match="schema version 4, this headwater knows 3"):
        schema.check(version=4, migrations=MIGRATIONS[:2])
    with pytest.raises(ConfigError, match="schema version 4, this headwater knows 3"):
        schema.init(graph.settings, MIGRATIONS[:2])
