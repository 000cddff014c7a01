"""A graph derived from its records alone equals the graph that the consumer wrote, and every difference is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_avro.errors import ConfigError
from headwater_avro.names import node_key
from headwater_graph.apply.deferred import REBUILD
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.check import Difference, check, differences
from headwater_graph.audit.dump import dump
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.audit.rederive import RederivedGraph
from headwater_graph.audit.sorted_lines import sort_lines

from ..fake_graph.store import FakeStore
from ..feeding import dumped, feed
from ..golden.cases import Case, all_cases
from ..laws import model
from ..laws.strategies import deliveries, event_sets

LIMITS = tuple(TransactionLimits(runs=runs, rows=rows) for runs in (1, 3, 5_000) for rows in (1, 2, 10_000))


def rederived(store: FakeStore) -> bytes:
    with RederivedGraph(store) as graph:
        return b"".join(dump(graph))


@settings(max_examples=150)
@given(st.data())
def test_the_rederived_graph_equals_the_stored_graph_and_the_reference_model(data: st.DataObject) -> None:
    messages = data.draw(event_sets())
    store = FakeStore()
    for batch in data.draw(deliveries(messages)):
        feed(store, batch, data.draw(st.sampled_from(LIMITS)))
    assert dumped(store) == rederived(store) == model.dump(messages)
    assert list(check(store)) == []


@settings(max_examples=150)
@given(st.data())
def test_a_rebuilt_graph_is_the_same_graph(data: st.DataObject) -> None:
    messages = data.draw(event_sets())
    store = FakeStore()
    for batch in data.draw(deliveries(messages)):
        feed(store, batch)
    rebuild(store, data.draw(st.sampled_from(LIMITS)))
    assert dumped(store) == model.dump(messages)
    assert list(check(store)) == []


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_golden_cases_are_rederived_and_rebuilt(case: Case) -> None:
    store = FakeStore()
    for message in case.messages:
        feed(store, [message])
    assert rederived(store) == case.dump
    assert list(check(store)) == []
    rebuild(store)
    assert dumped(store) == case.dump


# ---- errors are reported -------------------------------------------------------------------------------------------

JOB = {"namespace": "j", "name": "a"}
OUT = {"namespace": "d", "name": "out"}
IN = {"namespace": "d", "name": "in"}


def full_graph() -> FakeStore:
    """Return a graph with at least one node or edge of every kind."""
    columns = {"fields": {"f": {"inputFields": [{**IN, "field": "g"}]}}}
    drop = {"lifecycleStateChange": {"lifecycleStateChange": "DROP"}}
    alias = {"symlinks": {"identifiers": [{"namespace": "d", "name": "alias"}]}}
    events: list[dict[str, Any]] = [
        {
            "eventTime": f"2026-01-01T00:00:0{number}Z",
            "eventType": "COMPLETE",
            "run": {
                "runId": f"r{number}",
                "facets": {"parent": {"run": {"runId": "p"}, "job": {**JOB, "name": "dag"}}},
            },
            "job": {**JOB, "facets": {"sourceCodeLocation": {"version": "1"}}},
            "inputs": [IN, {**OUT, "name": "exact", "facets": {"version": {"datasetVersion": "7"}}}],
            "outputs": [
                {**OUT, "facets": {"columnLineage": columns}},
                *([{**OUT, "name": "two"}] if number > 1 else []),
            ],
        }
        for number in (1, 2, 3)
    ]
    events.append({"eventTime": "2026-01-01T00:00:00Z", "dataset": {**IN, "facets": {"schema": {"fields": []}}}})
    events.append({"eventTime": "2026-01-01T00:00:00Z", "dataset": {**IN, "name": "old", "facets": drop | alias}})
    events.append({"eventTime": "2026-01-01T00:00:09Z", "job": {**JOB, "name": "event"}, "outputs": [OUT]})
    store = FakeStore()
    feed(store, [msgspec.json.encode(event) for event in events])
    return store


def changed(table: str, where: str | None = None, **members: Any) -> Callable[[FakeStore], None]:
    """Change members of the last row of a table that has something under ``where``, or under the first member."""

    def plant(store: FakeStore) -> None:
        rows = store.tables[table]
        key = [key for key, row in rows.items() if row.get(where or next(iter(members)))][-1]
        assert any(rows[key].get(name) != value for name, value in members.items())
        rows[key] = rows[key] | members

    return plant


def removed(table: str) -> Callable[[FakeStore], None]:
    def plant(store: FakeStore) -> None:
        store.tables[table].popitem()

    return plant


def added(table: str, key: Any, row: dict[str, Any]) -> Callable[[FakeStore], None]:
    def plant(store: FakeStore) -> None:
        assert key not in store.tables[table]
        store.tables[table][key] = row

    return plant


def doubled(table: str) -> Callable[[FakeStore], None]:
    def plant(store: FakeStore) -> None:
        store.tables[table]["again"] = next(iter(store.tables[table].values()))

    return plant


def job(name: str) -> str:
    return node_key("job", "j", name)


PLANTED = {
    "a job's current version": ("job", changed("Job", current=None)),
    "a job nobody names": ("job", added("Job", "x", {"namespace": "j", "name": "x"})),
    "a job's facets": ("Job", changed("Job", facets='{"x":{}}')),
    "whose a job is": ("Job", changed("Job", where="record", owners=["x"])),
    "whether a job streams": ("Job", changed("Job", where="record", streaming=True)),
    "whose a dataset is": ("Dataset", changed("Dataset", where="record", owners=["x"])),
    "a job's parent": ("Job", added("CHILD_OF", (job("event"), job("a")), {})),
    "a dataset's current version": ("dataset", changed("Dataset", current=None)),
    "a dataset that is dropped": ("dataset", changed("Dataset", dropped=None)),
    "what says DROP": ("Dataset", changed("Dataset", saysDrop=None)),
    "an alias": ("dataset", removed("ALIAS_OF")),
    "a job version": ("jobVersion", changed("JobVersion", lineage="[[],[]]")),
    "a job version's end": ("jobVersion", changed("JobVersion", end=5)),
    "how many runs a version has": ("jobVersion", changed("JobVersion", runs=9)),
    "a version's inputs": ("JobVersion", changed("JobVersion", inputs=[])),
    "when a version took its code": ("JobVersion", changed("JobVersion", codeMoment=5)),
    "the last run of a version": ("JobVersion", changed("JobVersion", lastRunAt=5)),
    "the state of the last run of a version": ("JobVersion", changed("JobVersion", where="lastRun", lastRunState="ABORT")),
    "a run's version": ("run", removed("RAN")),
    "a run's state": ("Run", changed("Run", state="FAIL")),
    "a run's job": ("Run", removed("RUN_OF")),
    "a run's moment": ("Run", changed("Run", moment=5)),
    "a placeholder nobody names": ("run", added("Run", "x", {"id": "x"})),
    "a run's parent": ("Run", removed("CHILD_OF")),
    "a dataset version": ("datasetVersion", changed("DatasetVersion", state="FAIL")),
    "a version nobody made": (
        "datasetVersion",
        added("DatasetVersion", "x", {"id": "x", "dataset": node_key("dataset", "d", "in"), "moment": None}
              | dict.fromkeys(("madeBy", "external", "state", "schema", "text"))),
    ),
    "a version that says DROP": ("DatasetVersion", changed("DatasetVersion", where="moment", drops=True)),
    "a read": ("run", removed("READ_BY")),
    "the moment of a read": ("READ_BY", changed("READ_BY", moment=5)),
    "a write": ("run", removed("WROTE")),
    "an edge into a job": ("edge", removed("FEEDS")),
    "an edge out of a job": ("edge", removed("PRODUCES")),
    "since when an edge is there": ("FEEDS or PRODUCES", changed("FEEDS", since=5)),
    "what feeds an output": ("edge", changed("PRODUCES", where="job", inputs="[]")),
    "a column edge": ("columnEdge", removed("DERIVES")),
    "a column edge twice": ("columnEdge", doubled("DERIVES")),
    "a field": ("Field", removed("Field")),
    "a field's dataset": ("Field", changed("Field", of="x")),
    "where a JobEvent belongs": ("JobEvent", changed("JobEvent", version="x")),
}  # fmt: skip


@pytest.mark.parametrize("wrong", PLANTED)
def test_each_planted_error_is_reported(wrong: str) -> None:
    kind, plant = PLANTED[wrong]
    store = full_graph()
    assert list(check(store)) == []
    plant(store)
    found = list(check(store))
    assert any(f'"kind":"{kind}"' in difference.line.decode() for difference in found), found
    rebuild(store)
    assert list(check(store)) == []


def test_a_graph_with_deferred_work_is_not_checked() -> None:
    store = full_graph()
    with store.transaction() as tx:
        tx.write({"upsert_deferred_work": [{"key": "k", "kind": "reads", "body": b""}]})
    with pytest.raises(ConfigError, match="deferred work"):
        list(check(store))


def test_a_graph_under_rebuild_is_not_checked() -> None:
    store = full_graph()
    with store.transaction() as tx:
        tx.write({"upsert_deferred_work": [REBUILD]})
    with pytest.raises(ConfigError, match="graph rebuild"):
        list(check(store))


class WrittenMeanwhile(FakeStore):
    """A graph that another writer changes while the last of its scans is read."""

    def scan(self, name: str, **parameters: object) -> Iterator[dict[str, Any]]:
        yield from super().scan(name, **parameters)
        if name == "scan/columns":
            feed(
                self,
                [b'{"eventTime":"2026-01-02T00:00:00Z","run":{"runId":"late"},"job":{"namespace":"j","name":"b"}}'],
            )
            del self.tables["RUN_OF"][node_key("run", "late")]


def test_a_check_is_refused_if_the_graph_is_written_to_meanwhile() -> None:
    store = WrittenMeanwhile()
    store.tables = full_graph().tables
    with pytest.raises(ConfigError, match="stop the consumer"):
        list(check(store))


def test_differences_count_repeated_lines() -> None:
    assert list(differences([b"a", b"b", b"b"], [b"b", b"c", b"c"])) == [
        Difference("-", b"a"),
        Difference("-", b"b"),
        Difference("+", b"c"),
        Difference("+", b"c"),
    ]


@given(st.lists(st.binary(max_size=4).map(lambda line: line.replace(b"\n", b"") + b"\n")), st.integers(0, 40))
def test_lines_are_sorted_for_every_memory_limit(lines: list[bytes], in_memory: int) -> None:
    assert list(sort_lines(lines, in_memory)) == sorted(lines)
