"""A rebuild corrects every error, may be killed at any point, and the consumer writes nothing meanwhile."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headwater_avro.errors import ServerUnavailable
from headwater_graph.apply.deferred import RebuildUnfinished
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.merged import merge_rows
from headwater_graph.apply.transaction import apply_batch
from headwater_graph.audit.check import check
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.model.records import DatasetRecord, JobRecord, RunRecord, unpack

from ..apply.packed_runs import Watched, run, side, write
from ..apply.test_deferred import Killed, Mortal
from ..fake_graph.store import FakeStore
from ..feeding import dumped, feed
from ..golden.cases import all_cases

SMALL = TransactionLimits(runs=3, rows=5)
RECORDS: dict[str, Any] = {"Job": JobRecord, "Dataset": DatasetRecord, "Run": RunRecord}


def full_of_everything(store: FakeStore) -> FakeStore:
    """Write the golden events into one graph, and return it."""
    for case in all_cases()[::3]:
        feed(store, case.messages)
    return store


@pytest.fixture(scope="module")
def everything() -> FakeStore:
    return full_of_everything(FakeStore())


def copied(store: FakeStore, into: FakeStore) -> FakeStore:
    into.tables = {name: dict(table) for name, table in store.tables.items()}
    return into


def test_a_rebuild_changes_nothing_in_a_correct_graph(everything: FakeStore) -> None:
    store = copied(everything, FakeStore())
    done = rebuild(store)
    assert dumped(store) == dumped(everything)
    assert list(check(store)) == []
    records = [
        row for name in ("Run", "JobEvent") for row in store.tables[name].values() if row.get("record") or "text" in row
    ]
    events = [row for row in store.tables["DatasetVersion"].values() if row["text"]]
    assert done.runs_and_events == len(records) + len(events)


def test_a_rebuild_does_not_change_records(everything: FakeStore) -> None:
    store = copied(everything, FakeStore())
    rebuild(store)
    for name, kind in RECORDS.items():
        for key, row in everything.tables[name].items():
            again = store.tables[name][key]
            assert again.get("facets") == row.get("facets")
            assert (again.get("record") is None) == (row.get("record") is None)
            if row.get("record") is not None:
                assert unpack(again["record"], kind) == unpack(row["record"], kind)
    assert store.tables["JobEvent"] == everything.tables["JobEvent"]


@pytest.mark.parametrize("within", [False, True])
def test_a_rebuild_killed_at_any_transaction_is_completed_by_the_next(everything: FakeStore, within: bool) -> None:
    expected = dumped(everything)
    counting = Mortal(10**9)
    copied(everything, counting)
    rebuild(counting, SMALL)
    transactions = 10**9 - counting.left
    for at in {*range(1, transactions, transactions // 12), transactions}:
        store = Mortal(at, within=within)
        copied(everything, store)
        with pytest.raises(Killed):
            rebuild(store, SMALL)
        rebuild(store, SMALL)
        assert dumped(store) == expected, at
        assert not store.tables["DeferredWork"]


def test_each_transaction_of_a_rebuild_is_bounded() -> None:
    store = FakeStore()
    write(store, (run(f"r{at:03}", at, side("in"), side("out")) for at in range(300)))
    watched = Watched(store)
    rebuild(watched, TransactionLimits(runs=20, rows=30))
    assert max(watched.rows) <= 20 * 12


def test_while_a_rebuild_is_unfinished_the_consumer_waits(everything: FakeStore) -> None:
    store = Mortal(8)
    copied(everything, store)
    with pytest.raises(Killed):
        rebuild(store, SMALL)
    before = store.tables
    with pytest.raises(RebuildUnfinished, match="headwater graph rebuild") as waiting:
        feed(store, [b'{"eventTime":"2026-01-02T00:00:00Z","run":{"runId":"new"},"job":{"namespace":"j","name":"b"}}'])
    assert isinstance(waiting.value, ServerUnavailable)
    assert store.tables == before


def test_a_portion_whose_batch_began_before_the_rebuild_waits_too(everything: FakeStore) -> None:
    """Deferred work is checked before a batch, and again in each portion, since a rebuild may begin in between."""
    store = Mortal(8)
    copied(everything, store)
    with pytest.raises(Killed):
        rebuild(store, SMALL)
    with pytest.raises(RebuildUnfinished), store.transaction() as tx:
        apply_batch(tx, merge_rows([run("new", 1, side(), side("out"))]), SMALL)


def test_the_error_can_be_pickled() -> None:
    assert isinstance(pickle.loads(pickle.dumps(RebuildUnfinished())), RebuildUnfinished)


def test_a_rebuild_reports_its_progress(everything: FakeStore) -> None:
    steps: list[tuple[str, int]] = []
    rebuild(copied(everything, FakeStore()), SMALL, lambda what, done: steps.append((what, done)))
    assert {what for what, _ in steps} >= {"edges", "runs", "names"}
    assert steps[0] == ("deferred_work", 1)
