"""A job version has the state of its last run, also after changes that fold nothing again."""

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
LastRun = tuple[str | None, str | None, bool]
"""The last run of a version, its state, whether it is streaming."""


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
    members: dict[str, Any] = {
        "eventTime": f"2026-01-01T00:00:{second:02}Z",
        "eventType": kind,
        "run": {"runId": run},
        "job": {"namespace": "j", "name": "job"},
        "outputs": [{"namespace": "d", "name": name} for name in outputs],
    }
    if streaming:
        members["job"]["facets"] = {"jobType": {"processingType": "STREAMING", "integration": "SPARK"}}
    return json.dumps(members).encode()


def last_runs(store: AnyStore) -> list[LastRun]:
    """The last runs of the versions of the job."""
    found = [
        (row["lastRun"], row["lastRunState"], bool(row["lastRunStreaming"])) for row in store.scan("check/job_versions")
    ]
    return sorted(found, key=str)


def fed(store: AnyStore, *batches: list[bytes]) -> list[LastRun]:
    for batch in batches:
        feed(store, batch)
        assert list(check(store)) == []
    return last_runs(store)


def test_a_streaming_run_that_ends_changes_the_state_without_a_fold(store: AnyStore) -> None:
    started = event("r", 1, "START", "out", streaming=True)
    assert fed(store, [started]) == [("r", "RUNNING", True)]
    assert fed(store, [event("r", 9, "COMPLETE")]) == [("r", "COMPLETE", True)]


def test_of_two_ends_at_the_same_time_the_higher_state_counts(store: AnyStore) -> None:
    assert fed(store, [event("r", 1, "ABORT", "out")]) == [("r", "ABORT", False)]
    assert fed(store, [event("r", 1, "FAIL")]) == [("r", "FAIL", False)]


def test_a_run_before_the_last_does_not_change_the_state(store: AnyStore) -> None:
    runs = [event("first", 1, "ABORT", "out"), event("last", 2, "COMPLETE", "out")]
    assert fed(store, runs, [event("first", 1, "FAIL")]) == [("last", "COMPLETE", False)]


def test_a_late_run_leaves_the_state_of_the_last_run(store: AnyStore) -> None:
    later = [event("last", 5, "FAIL", "out")]
    assert fed(store, later, [event("late", 2, "COMPLETE", "out")]) == [("last", "FAIL", False)]
    assert fed(store, [event("split", 4, "COMPLETE", "other")]) == [
        ("last", "FAIL", False),
        ("late", "COMPLETE", False),
        ("split", "COMPLETE", False),
    ]


def test_the_state_of_a_removed_run_is_removed_with_it(store: AnyStore) -> None:
    feed(store, [event("old", 1, "FAIL", "out"), event("new", 9, "COMPLETE", "other")])
    retain(store, parse_time("2026-01-01T00:00:20Z"))
    assert last_runs(store) == [("new", None, False)]
    assert list(check(store)) == []
    rebuild(store)
    assert last_runs(store) == [("new", None, False)]


@pytest.mark.end_to_end
def test_a_graph_of_a_schema_without_states_is_migrated(servers: Servers) -> None:
    with opened(servers) as store:
        feed(emptied(store), [event("r", 1, "START", "out", streaming=True), event("other", 2, "FAIL", "more")])
        before = last_runs(store)
        assert {state for _, state, _ in before} == {"RUNNING", "FAIL"}
        store.driver.execute_query(
            "MATCH (v:JobVersion), (s:HeadwaterSchema) REMOVE v.lastRunState, v.lastRunStreaming SET s.version = 1",
            database_="neo4j",
        )
        assert list(check(store))
        assert [version for version, _ in schema.migrate(store.settings)] == [2, 3, 4]
        assert last_runs(store) == before
        assert list(check(store)) == []
        emptied(store)
