"""A rebuild puts right whatever is wrong, may be killed at any point, and nothing else is written meanwhile."""

from __future__ import annotations

import pickle

import pytest

from headwater_avro.errors import ServerUnavailable
from headwater_consumer.batch import GraphWriter
from headwater_consumer.check import check
from headwater_consumer.rebuild import rebuild
from headwater_consumer.settle.limits import Limits
from headwater_consumer.settle.owed import RebuildUnfinished
from headwater_graph.fake import FakeStore

from ..feeding import dumped, feed
from ..golden.cases import all_cases
from .test_owed import Killed, Mortal
from .told import Watched, run, side, write

SMALL = Limits(runs=3, rows=5)
RECORDS = ("Job", "Dataset", "Run", "JobEvent")


def full_of_everything(store: FakeStore) -> FakeStore:
    """All golden events in one graph."""
    for case in all_cases()[::3]:
        feed(store, case.messages)
    return store


@pytest.fixture(scope="module")
def everything() -> FakeStore:
    return full_of_everything(FakeStore())


def copied(store: FakeStore, into: FakeStore) -> FakeStore:
    into.tables = {name: dict(table) for name, table in store.tables.items()}
    return into


def test_a_rebuild_changes_nothing_in_a_graph_that_is_right(everything: FakeStore) -> None:
    store = copied(everything, FakeStore())
    done = rebuild(store)
    assert dumped(store) == dumped(everything)
    assert list(check(store)) == []
    told = [
        row for name in ("Run", "JobEvent") for row in store.tables[name].values() if row.get("record") or "text" in row
    ]
    events = [row for row in store.tables["DatasetVersion"].values() if row["text"]]
    assert done.runs_and_events == len(told) + len(events)


def test_records_stay_as_they_are(everything: FakeStore) -> None:
    store = copied(everything, FakeStore())
    rebuild(store)
    for name in RECORDS:
        for key, row in everything.tables[name].items():
            again = store.tables[name][key]
            assert again.get("record") == row.get("record")
            assert again.get("facets") == row.get("facets")


@pytest.mark.parametrize("within", [False, True])
def test_a_rebuild_that_was_killed_anywhere_is_finished_by_the_next(everything: FakeStore, within: bool) -> None:
    expected = dumped(everything)
    counting = copied(everything, Mortal(0))
    rebuild(counting, SMALL)  # type: ignore[arg-type]
    transactions = -counting.left  # type: ignore[attr-defined]
    for at in {*range(1, transactions, transactions // 12), transactions}:
        store = Mortal(at, within=within)
        copied(everything, store)
        with pytest.raises(Killed):
            rebuild(store, SMALL)
        rebuild(store, SMALL)
        assert dumped(store) == expected, at
        assert not store.tables["Owed"]


def test_each_transaction_of_a_rebuild_is_bounded() -> None:
    store = FakeStore()
    write(store, (run(f"r{at:03}", at, side("in"), side("out")) for at in range(300)))
    watched = Watched(store)
    rebuild(watched, Limits(runs=20, rows=30))
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


def test_a_consumer_that_was_in_the_middle_of_a_batch_when_the_rebuild_began_waits_too(everything: FakeStore) -> None:
    """What was owed is asked before a portion is settled: a mark that comes in between is seen by the portion itself."""
    store = copied(everything, FakeStore())
    writer = GraphWriter(store)
    mortal = copied(everything, Mortal(8))

    def stopped_half_way() -> None:
        with pytest.raises(Killed):
            rebuild(mortal, SMALL)  # type: ignore[arg-type]
        store.tables = mortal.tables

    writer.settle_owed()
    stopped_half_way()
    with pytest.raises(RebuildUnfinished):
        writer._apply([run("new", 1, side(), side("out"))], _progress())


def _progress():  # type: ignore[no-untyped-def]
    from headwater_consumer.batch import _Progress

    return _Progress()


def test_the_error_survives_a_process_border() -> None:
    assert isinstance(pickle.loads(pickle.dumps(RebuildUnfinished())), RebuildUnfinished)


def test_the_progress_of_a_rebuild_is_told(everything: FakeStore) -> None:
    told: list[tuple[str, int]] = []
    rebuild(copied(everything, FakeStore()), SMALL, lambda what, done: told.append((what, done)))
    assert {what for what, _ in told} >= {"edges", "runs", "names"}
    assert told[0] == ("owed", 1)
