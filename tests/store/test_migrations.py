"""A graph of an older schema is led to this one step by step; of a newer one nothing is touched."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import neo4j
import pytest
from click.testing import CliRunner

from headwater_avro.errors import ConfigError
from headwater_cli.graph import graph as command
from headwater_graph.model.values import Statement
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
    assert version_of(graph) == [1], "showing changed something"
    assert [step.purpose for _, step in schema.migrate(where, STEPS)] == [step.purpose for step in STEPS]
    assert version_of(graph) == [3]
    assert run(graph, "MATCH (j:Job) RETURN j.shade") == [1]
    assert run(graph, "SHOW INDEXES YIELD name WHERE name = 'test_shade' RETURN name") == ["test_shade"]
    assert schema.init(where, STEPS) > 0
    assert list(schema.migrate(where, STEPS)) == []
    assert run(graph, "MATCH (j:Job) RETURN j.shade") == [1]


def test_a_migration_that_was_broken_off_goes_on_where_it_was(graph: Neo4jStore) -> None:
    broken = (
        STEPS[0],
        Migration("breaks", ("CREATE INDEX test_shade IF NOT EXISTS FOR (n:Job) ON (n.shade)", "RETURN x")),
    )
    with pytest.raises(Exception, match="x"):
        list(schema.migrate(graph.settings, broken))
    assert version_of(graph) == [2]
    assert [version for version, _ in schema.migrate(graph.settings, STEPS)] == [3]
    assert run(graph, "MATCH (j:Job) RETURN j.shade") == [1], "a step that was done was done again"


def test_while_it_is_led_there_an_older_headwater_takes_it_for_a_newer_one(graph: Neo4jStore) -> None:
    seen: list[object] = []

    def look(session: neo4j.Session) -> None:
        seen.append(session.run("MATCH (s:HeadwaterSchema) RETURN s.version").single(strict=True)["s.version"])
        with pytest.raises(ConfigError, match="schema version 1, this headwater needs"), graph.transaction():
            pass

    list(schema.migrate(graph.settings, (Migration("is looked at", (look,)), *STEPS)))
    assert seen == [4]
    assert run(graph, "MATCH (s:HeadwaterSchema) RETURN [s.version, s.reached]") == [[4, None]]


def test_it_waits_for_whoever_is_writing(graph: Neo4jStore) -> None:
    run(graph, "MATCH (s:HeadwaterSchema) SET s.version = $version", version=schema.VERSION)
    told = Statement("upsert_named_jobs", ({"key": "test-last", "namespace": "n", "name": "last"},))
    steps = (*MIGRATIONS, STEPS[0])
    with ThreadPoolExecutor(1) as thread:
        with graph.transaction() as tx:
            tx.write([told])
            led = thread.submit(lambda: list(schema.migrate(graph.settings, steps)))
            assert wait([led], timeout=1).not_done, "it did not wait"
        led.result(timeout=60)
    assert run(graph, "MATCH (j:Job {key: 'test-last'}) RETURN j.shade") == [1]


def test_a_newer_graph_is_left_alone(graph: Neo4jStore) -> None:
    run(graph, "MERGE (s:HeadwaterSchema) SET s.version = 7")
    for ask in (schema.init, schema.pending, lambda where: list(schema.migrate(where))):
        with pytest.raises(ConfigError, match=f"schema version 7, this headwater knows {schema.VERSION}"):
            ask(graph.settings)
    assert version_of(graph) == [7]


def test_a_graph_without_a_schema_has_nothing_to_migrate(graph: Neo4jStore) -> None:
    run(graph, "MATCH (s:HeadwaterSchema) DELETE s")
    assert schema.pending(graph.settings, STEPS) == []
    assert schema.init(graph.settings, STEPS) > 0
    assert version_of(graph) == [3]
    run(graph, "MATCH (s:HeadwaterSchema) DELETE s")
    schema.init(graph.settings)
    assert version_of(graph) == [schema.VERSION]


def test_the_command_shows_first_and_does_it_when_told(graph: Neo4jStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_steps(settings: GraphSettings) -> list[tuple[int, Migration]]:
        return pending(settings, STEPS)

    def by_steps(settings: GraphSettings) -> Iterator[tuple[int, Migration]]:
        return migrate(settings, STEPS)

    pending, migrate = schema.pending, schema.migrate
    monkeypatch.setattr("headwater_cli.graph_migrate.graph_location", lambda: graph.settings)
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


def test_who_writes_notices_at_its_next_transaction(graph: Neo4jStore) -> None:
    told = Statement("upsert_named_jobs", ({"key": "test-late", "namespace": "n", "name": "late"},))
    for version in (schema.VERSION + 1, 1):
        run(graph, "MATCH (s:HeadwaterSchema) SET s.version = $version", version=version)
        with pytest.raises(ConfigError, match=f"schema version {version}"), graph.transaction() as tx:
            tx.write([told])
        assert run(graph, "MATCH (j:Job {key: 'test-late'}) RETURN 1") == []
    list(schema.migrate(graph.settings))
    with graph.transaction() as tx:
        tx.write([told])
    assert run(graph, "MATCH (j:Job {key: 'test-late'}) RETURN 1") == [1]


def test_questions_of_another_schema_are_refused_until_it_is_led_there(graph: Neo4jStore) -> None:
    with Neo4jReader(graph.settings) as reader:
        with pytest.raises(ConfigError, match="headwater graph migrate"):
            reader.rows("owed")
        assert reader.run("MATCH (j:Job) RETURN j.name AS name", {})[0]["name"] == "j"
        list(schema.migrate(graph.settings))
        assert reader.rows("owed")[0]["owed"] == 0
