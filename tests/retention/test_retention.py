"""Retention can be killed anywhere and continues, its transactions are bounded, and no records are written meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.check import check
from headwater_graph.audit.rebuild import rebuild
from headwater_graph.retention.removal import begin_retention
from headwater_graph.retention.retain import retain, would_remove

from ..apply.packed_runs import START, Watched, run, side, write
from ..apply.test_deferred import Killed, Mortal
from ..fake_graph.store import FakeStore, FakeTransaction
from ..feeding import dumped, feed

SMALL = TransactionLimits(runs=5, rows=20)
RUNS = 60
HORIZON = START + 50 * 1_000_000
LATE = json.dumps(
    {
        "eventTime": "2023-11-14T22:14:30Z",
        "eventType": "COMPLETE",
        "run": {"runId": "late"},
        "job": {"namespace": "j", "name": "job0"},
        "outputs": [{"namespace": "d", "name": "out0"}],
    }
).encode()


def filled(store: FakeStore) -> FakeStore:
    write(
        store,
        (
            run(f"r{at:03}", at, side(f"in{at % 4}"), side(f"out{at // 7 % 3}"), job=f"job{at % 3}")
            for at in range(RUNS)
        ),
    )
    return store


@pytest.fixture(scope="module")
def expected() -> bytes:
    store = filled(FakeStore())
    retain(store, HORIZON)
    feed(store, [LATE])
    return dumped(store)


@pytest.mark.parametrize("within", [False, True])
def test_retention_that_was_killed_anywhere_is_finished_by_the_next_batch(expected: bytes, within: bool) -> None:
    counting = Mortal(10**9)
    filled(counting)
    before = counting.left
    retain(counting, HORIZON, SMALL)
    transactions = before - counting.left
    assert transactions > 20
    for at in range(2, transactions, 3):
        store = Mortal(10**9, within=within)
        filled(store)
        store.left = at
        with pytest.raises(Killed):
            retain(store, HORIZON, SMALL)
        store.left = 10**9
        if not store.tables["DeferredWork"]:
            retain(store, HORIZON, SMALL)
        feed(store, [LATE], SMALL)
        assert dumped(store) == expected, at
        assert list(check(store)) == []


def test_retention_that_was_killed_is_finished_by_a_rebuild(expected: bytes) -> None:
    store = Mortal(10**9)
    filled(store)
    store.left = 8
    with pytest.raises(Killed):
        retain(store, HORIZON, SMALL)
    store.left = 10**9
    rebuild(store, SMALL)
    feed(store, [LATE])
    assert dumped(store) == expected


def test_each_transaction_of_retention_is_bounded() -> None:
    watched = Watched(filled(FakeStore()))
    for row in retain(watched, HORIZON, SMALL).values():
        assert row > 0
    assert len([rows for rows in watched.rows if rows]) > RUNS // SMALL.rows
    assert max(watched.rows) <= 3 * SMALL.rows


def test_a_batch_that_meets_unfinished_retention_finishes_it_first() -> None:
    """Deferred work is done before a batch; here the horizon is set after that, before the batch's own transaction.

    Events of runs that are removed show whether the batch came before or after the horizon.
    """

    class SetMeanwhile(FakeStore):
        begun = 0

        @contextmanager
        def transaction(self) -> Iterator[FakeTransaction]:
            self.begun += 1
            if self.begun == 2:
                # The first transaction of the batch has found no deferred work.
                with super().transaction() as tx:
                    begin_retention(tx, HORIZON)
            with super().transaction() as tx:
                yield tx

    messages = [LATE, *(LATE.replace(b'"late"', f'"r{at:03}"'.encode()) for at in range(10))]
    after = filled(FakeStore())
    retain(after, HORIZON)
    feed(after, messages)
    store = SetMeanwhile()
    store.tables = filled(FakeStore()).tables
    feed(store, messages)
    assert not store.tables["DeferredWork"]
    assert dumped(store) == dumped(after)


def test_a_second_retention_finds_nothing_to_remove() -> None:
    store = filled(FakeStore())
    retain(store, HORIZON)
    once = dumped(store)
    assert {kind: removal.count for kind, removal in would_remove(store, HORIZON).items()} == dict.fromkeys(
        ("runs", "job versions", "job events", "dataset versions"), 0
    )
    assert not retain(store, HORIZON)
    assert dumped(store) == once


def test_progress_is_reported_during_retention() -> None:
    reported: list[int] = []
    removed = retain(filled(FakeStore()), HORIZON, SMALL, lambda counter: reported.append(counter["runs"]))
    assert reported == sorted(reported)
    assert 0 < reported[len(reported) // 2] <= reported[-1] == removed["runs"] == 50


def test_deferred_work_is_done_before_the_horizon_is_set() -> None:
    store = filled(FakeStore())
    with store.transaction() as tx:
        begin_retention(tx, START + 20 * 1_000_000)
    retain(store, HORIZON)
    once = filled(FakeStore())
    retain(once, START + 20 * 1_000_000)
    retain(once, HORIZON)
    assert dumped(store) == dumped(once)
