"""The overview of the graph, and the state of the consumer."""

from __future__ import annotations

import json
from datetime import timedelta

import neo4j
import pytest

from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.reports.consumer_state import ConsumerState, consumer_state
from headwater_graph.queries.reports.overview import overview

from ..given_answers import GivenAnswers
from .graph_maker import START, GraphMaker

NOW = START + timedelta(days=31)
HOUR = 700
ALL = 10_000


@pytest.fixture
def latest(maker: GraphMaker, driver: neo4j.Driver) -> GraphMaker:
    maker.run("changed", ["a"], ["x"], hour=HOUR)
    maker.run("changed", ["a", "b"], ["x"], hour=HOUR + 1)
    maker.run("new", ["a"], ["y"], hour=HOUR + 2)
    maker.run("same", ["a"], ["z"], hour=HOUR + 3)
    maker.run("same", ["a"], ["z"], hour=HOUR + 4)
    maker.run("broken", ["a"], [], hour=HOUR + 5, state="FAIL", error="boom", run_id=f"{maker.namespace}-failed")
    maker.open_run("quiet", f"{maker.namespace}-silent", hour=HOUR + 6)
    maker.open_run("busy", f"{maker.namespace}-busy", hour=HOUR + 40)
    maker.store(driver)
    return maker


def test_the_overview_has_the_latest_of_each_list(reader: Neo4jReader, latest: GraphMaker) -> None:
    ns, found = latest.namespace, overview(reader, NOW, ALL)
    own = {
        name: [line.id for line in lines if line.id.startswith(ns)]
        for name, lines in (("failed", found.failed), ("silent", found.silent), ("latest", found.latest))
    }
    assert own["failed"] == [f"{ns}-failed"]
    assert own["silent"] == [f"{ns}-silent"]
    assert own["latest"][:3] == [f"{ns}-busy", f"{ns}-silent", f"{ns}-failed"]
    assert {line.state for line in found.failed} == {"FAIL"}
    assert all("silent" in line.status for line in found.silent)
    assert not found.value()["isEmpty"]


def test_a_list_has_at_most_its_limit_and_ends_with_the_earliest(reader: Neo4jReader, latest: GraphMaker) -> None:
    whole, found = overview(reader, NOW, ALL), overview(reader, NOW, 1)
    for name in ("failed", "silent", "latest"):
        assert getattr(found, name) == getattr(whole, name)[:1]
        times = [line.last_event for line in getattr(whole, name)]
        assert times == sorted(times, reverse=True)
    assert found.changes == whole.changes[:1]


def test_a_run_that_makes_a_new_version_is_a_change(reader: Neo4jReader, latest: GraphMaker) -> None:
    ns = latest.namespace
    changes = [change.value() for change in overview(reader, NOW, ALL).changes]
    (own,) = [change for change in changes if change["job"][0] == ns]
    # Neither a first version nor a run without a new version is a change.
    assert (own["job"], own["number"], own["reasons"]) == ([ns, "changed"], 2, [f"inputs changed: + {ns} b"])


def test_the_counts_are_those_of_the_graph(reader: Neo4jReader, latest: GraphMaker) -> None:
    counts = overview(reader, NOW, 1).counts
    for name, label in (("datasets", "Dataset"), ("jobs", "Job"), ("runs", "Run")):
        assert counts[name] == reader.run(f"MATCH (n:{label}) RETURN count(n) AS n", {})[0]["n"]


def test_an_empty_graph_has_an_empty_overview() -> None:
    answers = GivenAnswers({"catalog/counts": [{"jobs": 0, "datasets": 0, "runs": 0}]})
    assert overview(answers, START).value() == {
        "counts": {"datasets": 0, "jobs": 0, "runs": 0},
        "failed": [],
        "silent": [],
        "latest": [],
        "changes": [],
        "isEmpty": True,
    }


WRITER = {
    "holder": "host-1",
    "at": None,
    "batch": 7,
    "offsets": json.dumps({"lineage.events": {"0": 5, "1": 9}}),
    "losses": json.dumps([{"topic": "lineage.events", "partition": 1, "begin": 2, "end": 4, "time": "2026-01-01T00:00:00Z"}]),
    "horizon": 0,
    "deferred": 12_000,
}  # fmt: skip


def state_of(**changes: object) -> ConsumerState:
    kinds = [{"kind": "fold", "count": 9_999}, {"kind": "retain", "count": 1}]
    return consumer_state(GivenAnswers({"status/writer": [WRITER | changes], "status/deferred_kinds": kinds}))


def test_the_lag_is_what_the_graph_lacks_of_each_partition() -> None:
    value = state_of().value({"lineage.events": {0: 25, 1: 9}, "other": {0: 1}})
    assert value["lag"] == 20
    assert value["partitions"] == [
        {"topic": "lineage.events", "partition": 0, "offset": 5, "end": 25, "lag": 20},
        {"topic": "lineage.events", "partition": 1, "offset": 9, "end": 9, "lag": 0},
    ]
    assert value["losses"][0]["begin"] == 2
    assert value["horizon"] == "1970-01-01T00:00:00.000000Z"


def test_without_kafka_there_is_no_lag_and_a_deleted_topic_has_none() -> None:
    assert "lag" not in state_of().value()
    assert "lag" not in state_of().value({})
    assert state_of().value({"lineage.events": {0: 3}})["lag"] == 0


def test_deferred_work_is_counted_by_kind_within_a_limit() -> None:
    assert state_of().value()["deferredWork"] == {"total": 12_000, "kinds": {"fold": 9_999, "retain": 1}, "cut": True}
    assert state_of(deferred=0).value()["deferredWork"] == {"total": 0, "kinds": {}, "cut": False}


def test_a_new_graph_has_no_consumer_yet() -> None:
    value = consumer_state(GivenAnswers()).value({})
    assert value == {"partitions": [], "losses": [], "deferredWork": {"total": 0, "kinds": {}, "cut": False}}
