"""The statements that are planned before the first batch are those that batches use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headwater_graph.store import neo4j_store as store_module
from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.plan_cache import USUAL, warm_up
from headwater_graph.store.statements import prepared

from ..feeding import feed
from ..servers import Servers
from .empty import emptied, opened

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield emptied(store)


def event(kind: str, second: int, run: str, job: str, reads: list[str], writes: list[str], code: str = "1") -> bytes:
    columns = {"out": {"inputFields": [{"namespace": "n", "name": name, "field": "in"} for name in reads]}}
    facets = {"schema": {"fields": [{"name": "out"}]}, "columnLineage": {"fields": columns}}
    value: dict[str, Any] = {
        "eventType": kind,
        "eventTime": f"2026-01-01T00:00:{second:02}Z",
        "run": {"runId": run},
        "job": {"namespace": "n", "name": job, "facets": {"sourceCodeLocation": {"version": code}}},
        "inputs": [{"namespace": "n", "name": name} for name in reads],
        "outputs": [{"namespace": "n", "name": name, "facets": facets} for name in writes],
    }
    return json.dumps(value).encode()


BATCHES = (
    [
        event("COMPLETE", 10, "m1", "make", ["raw", "raw2"], ["a"]),
        event("COMPLETE", 20, "r1", "read", ["a"], ["b"]),
        event("START", 25, "r2", "read", ["a"], []),
        event("COMPLETE", 30, "m2", "make", ["raw", "raw2"], ["a"]),
    ],
    # Continued, changed and late runs: a run before all known ones, and one with further events.
    [
        event("COMPLETE", 35, "r2", "read", ["a"], ["b"]),
        event("COMPLETE", 40, "m3", "make", ["raw"], ["a"], code="2"),
        event("COMPLETE", 15, "m0", "make", ["raw"], ["a"]),
        event("START", 5, "m1", "make", ["raw", "raw3"], []),
        event("COMPLETE", 50, "r3", "read", ["a", "c"], ["b"]),
    ],
    [
        event("FAIL", 12, "m1", "make", ["raw"], []),
        event("COMPLETE", 35, "m2b", "make", ["raw"], ["a"], code="2"),
        event("COMPLETE", 60, "r3", "read", ["a"], ["b"], code="2"),
    ],
)


def used_by(graph: Neo4jStore, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    used: list[str] = []

    def noted(name: str, parameters: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        used.append(name)
        return prepared(name, parameters)

    monkeypatch.setattr(store_module, "prepared", noted)
    for batch in BATCHES:
        feed(graph, batch)
    return set(used)


def test_the_usual_statements_are_those_of_ordinary_batches(graph: Neo4jStore, monkeypatch: pytest.MonkeyPatch) -> None:
    # Offsets come from Kafka. Every transaction takes the lock; the others concern a dataset that no run makes.
    used = used_by(graph, monkeypatch)
    assert set(USUAL) - used == {"write/set_offsets"}
    assert used - set(USUAL) <= {"write/lock", "read/last_exact_read", "read/inexact_read"}


def test_warming_up_writes_nothing(graph: Neo4jStore) -> None:
    warm_up(graph)
    with graph.driver.session(database="neo4j") as session:
        found = session.run("MATCH (n) RETURN count(n) AS found").single(strict=True)["found"]
        schema = session.run("MATCH (n:HeadwaterSchema) RETURN count(n) AS found").single(strict=True)["found"]
    assert found == schema
