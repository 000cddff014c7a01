"""A job's version knows how its last run stands, also when that changes and nothing is folded again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headwater_avro.times import parse_time
from headwater_graph.audit.check import check
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.retention.retain import retain
from headwater_graph.store import schema
from headwater_graph.store.neo4j_store import Neo4jStore

from ..fake_graph.store import FakeStore
from ..feeding import feed
from ..servers import Servers
from ..store.empty import emptied, opened

AnyStore = FakeStore | Neo4jStore
Precedence = tuple[str | None, str | None, bool]
"""The last run of a version, its state, whether it streams."""


@pytest.fixture(params=["in memory", pytest.param("neo4j", marks=pytest.mark.end_to_end)])
def store(request: pytest.FixtureRequest) -> Iterator[AnyStore]:
    if request.param == "in memory":
        yield FakeStore()
        return
    servers: Servers = request.getfixturevalue("servers")
    with opened(servers) as graph:
        yield emptied(graph)
        emptied(graph)


def event(run: str, second: int, kind: str, *outputs: str, streaming: bool = False) -> bytes:
    told: dict[str, Any] = {
        "eventTime": f"2026-01-01T00:00:{second:02}Z",
        "eventType": kind,
        "run": {"runId": run},
        "job": {"namespace": "j", "name": "job"},
        "outputs": [{"namespace": "d", "name": name} for name in outputs],
    }
    if streaming:
        told["job"]["facets"] = {"jobType": {"processingType": "STREAMING", "integration": "SPARK"}}
    return json.dumps(told).encode()


def precedence(store: AnyStore) -> list[Precedence]:
    """How the versions of the job stand, by their last runs."""
    found = [
        (row["lastRun"], row["lastRunState"], bool(row["lastRunStreaming"])) for row in store.scan("check/job_versions")
    ]
    return sorted(found, key=str)


def told(store: AnyStore, *batches: list[bytes]) -> list[Precedence]:
    for batch in batches:
        feed(store, batch)
        assert list(check(store)) == []
    return precedence(store)


def test_a_streaming_run_that_ends_stands_otherwise_without_a_fold(store: AnyStore) -> None:
    started = event("r", 1, "START", "out", streaming=True)
    assert told(store, [started]) == [("r", "RUNNING", True)]
    assert told(store, [event("r", 9, "COMPLETE")]) == [("r", "COMPLETE", True)]


def test_of_two_ends_at_one_time_the_higher_stands(store: AnyStore) -> None:
    assert told(store, [event("r", 1, "ABORT", "out")]) == [("r", "ABORT", False)]
    assert told(store, [event("r", 1, "FAIL")]) == [("r", "FAIL", False)]


def test_a_run_before_the_last_says_nothing_of_the_version(store: AnyStore) -> None:
    runs = [event("first", 1, "ABORT", "out"), event("last", 2, "COMPLETE", "out")]
    assert told(store, runs, [event("first", 1, "FAIL")]) == [("last", "COMPLETE", False)]


def test_a_late_run_leaves_the_last_as_it_stands(store: AnyStore) -> None:
    later = [event("last", 5, "FAIL", "out")]
    assert told(store, later, [event("late", 2, "COMPLETE", "out")]) == [("last", "FAIL", False)]
    assert told(store, [event("split", 4, "COMPLETE", "other")]) == [
        ("last", "FAIL", False),
        ("late", "COMPLETE", False),
        ("split", "COMPLETE", False),
    ]


def test_how_a_removed_run_stood_is_forgotten_with_it(store: AnyStore) -> None:
    feed(store, [event("old", 1, "FAIL", "out"), event("new", 9, "COMPLETE", "other")])
    retain(store, parse_time("2026-01-01T00:00:20Z"))
    assert precedence(store) == [("new", None, False)]
    assert list(check(store)) == []
    rebuild(store)
    assert precedence(store) == [("new", None, False)]


@pytest.mark.end_to_end
def test_a_graph_written_before_versions_knew_it_is_led_there(servers: Servers) -> None:
    with opened(servers) as store:
        feed(emptied(store), [event("r", 1, "START", "out", streaming=True), event("other", 2, "FAIL", "more")])
        before = precedence(store)
        assert {state for _, state, _ in before} == {"RUNNING", "FAIL"}
        store.driver.execute_query(
            "MATCH (v:JobVersion), (s:HeadwaterSchema) REMOVE v.lastRunState, v.lastRunStreaming SET s.version = 1",
            database_="neo4j",
        )
        assert list(check(store))
        assert [version for version, _ in schema.migrate(store.settings)] == [2, 3, 4]
        assert precedence(store) == before
        assert list(check(store)) == []
        emptied(store)
