"""The writer repeats busy transactions, divides those that are too large, and finds what the store refuses."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from headwater_avro.errors import EventRejected, ServerUnavailable, StoreBusy, StoreExhausted, StoreRefused
from headwater_graph.apply.batch_writer import FINE_BEFORE_GROWING, BatchPosition, GraphWriter
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.model.values import Writes
from headwater_graph.retention.removal import begin_retention
from headwater_graph.rules.coalesce import Coalescer, MergedRow
from headwater_graph.store.writer_node import CommittedOffsets

from ..fake_graph.store import FakeStore, FakeTransaction
from ..feeding import dumped
from ..servers import Servers
from ..store.empty import emptied, opened

POSITION = BatchPosition("q", 1, {"t": {0: 3}})


class TroubledTransaction(FakeTransaction):
    trouble: Callable[[Writes], None]

    def write(self, writes: Writes) -> int:
        self.trouble(writes)
        return super().write(writes)


class TroubledStore(FakeStore):
    """A store whose writes raise errors."""

    def __init__(self, trouble: Callable[[Writes], None]) -> None:
        super().__init__()
        self.trouble = trouble

    @contextmanager
    def transaction(self) -> Iterator[FakeTransaction]:
        before = {name: dict(table) for name, table in self.tables.items()}
        tx = TroubledTransaction(self.tables)
        tx.trouble = self.trouble
        try:
            yield tx
        except BaseException:
            self.tables = before
            raise


def rows(*run_ids: str) -> list[MergedRow]:
    coalescer = Coalescer()
    for number, run_id in enumerate(run_ids):
        event = (
            f'{{"eventTime":"2026-01-01T00:00:0{number}Z","eventType":"COMPLETE","run":{{"runId":"{run_id}"}},'
            f'"job":{{"namespace":"n","name":"j"}},"outputs":[{{"namespace":"n","name":"d"}}]}}'
        )
        coalescer.add(event.encode(), source=(0, number))
    return list(coalescer.rows())


def runs_in(writes: Writes) -> list[str]:
    return [row["id"] for name in ("create_runs", "upsert_runs") for row in writes.get(name, ())]


def offsets_in(store: FakeStore) -> str | None:
    offsets: str | None = store.tables["Writer"].get("consumer", {}).get("offsets")
    return offsets


def graph_of(given: list[MergedRow]) -> bytes:
    store = FakeStore()
    GraphWriter(store).apply(given, POSITION)
    return dumped(store)


def test_a_refused_record_is_found_and_the_others_are_written() -> None:
    def trouble(writes: Writes) -> None:
        if "poison" in runs_in(writes):
            raise StoreRefused("no")

    store = TroubledStore(trouble)
    given = rows("a", "b", "poison", "c", "d")
    report = GraphWriter(store).apply(given, POSITION)
    assert [(row.key, row.code) for row in report.refused] == [(b"poison", "store_refused")]
    assert report.refused[0].sources == next(row[3] for row in given if row[1] == b"poison")
    assert dumped(store) == graph_of([row for row in given if row[1] != b"poison"])


def test_a_busy_transaction_is_repeated() -> None:
    left = iter([StoreBusy("deadlock"), StoreBusy("deadlock")])

    def trouble(_writes: Writes) -> None:
        for fault in left:
            raise fault

    store = TroubledStore(trouble)
    given = rows("a", "b")
    assert GraphWriter(store).apply(given, POSITION).refused == []
    assert dumped(store) == graph_of(given)


def test_a_prepared_batch_can_be_written_again() -> None:
    left = iter([StoreBusy("deadlock")])

    def trouble(_writes: Writes) -> None:
        for fault in left:
            raise fault

    store, given = TroubledStore(trouble), rows("a", "b", "c")
    writer = GraphWriter(store, TransactionLimits(runs=2))
    prepared = writer.prepare(given)
    # Only the content of the first transaction is computed in advance.
    assert [(len(portion.rows), portion.prepared is not None) for portion in prepared] == [(2, True), (1, False)]
    for _ in range(2):
        assert writer.write(prepared, POSITION).committed
        assert dumped(store) == graph_of(given)


def test_a_batch_too_large_for_the_store_is_written_in_smaller_transactions() -> None:
    sizes = []

    def trouble(writes: Writes) -> None:
        if runs := runs_in(writes):
            sizes.append(len(runs))
            if len(runs) > 2:
                raise StoreExhausted("out of memory")

    store = TroubledStore(trouble)
    given = rows(*"abcdefgh")
    assert GraphWriter(store, TransactionLimits(runs=8)).apply(given, POSITION).refused == []
    assert max(sizes) == 8
    assert dumped(store) == graph_of(given)


def test_smaller_transactions_grow_back_after_a_while() -> None:
    sizes: list[int] = []

    def trouble(writes: Writes) -> None:
        if runs := runs_in(writes):
            sizes.append(len(runs))
            if len(sizes) == 1:
                raise StoreExhausted("out of memory")

    writer = GraphWriter(TroubledStore(trouble), TransactionLimits(runs=8))
    for batch in range(FINE_BEFORE_GROWING + 2):
        writer.apply(rows(*(f"{batch}-{number}" for number in range(8))), POSITION)
    assert sizes == [8, *[4, 4] * FINE_BEFORE_GROWING, 8, 8]


def test_a_store_without_memory_for_anything_is_an_error_and_not_a_dead_letter() -> None:
    def trouble(_writes: Writes) -> None:
        raise StoreExhausted("out of memory")

    with pytest.raises(StoreExhausted):
        GraphWriter(TroubledStore(trouble)).apply(rows("a"), POSITION)


def test_deferred_work_that_the_store_has_no_memory_for_is_an_error() -> None:
    tries = []

    def trouble(writes: Writes) -> None:
        if "delete_deferred_work" in writes:
            tries.append(1)
            raise StoreExhausted("out of memory")

    store = TroubledStore(trouble)
    with store.transaction() as tx:
        begin_retention(tx, 0)
    with pytest.raises(StoreExhausted):
        GraphWriter(store, TransactionLimits(runs=4, bytes=4096, rows=400)).run_all_deferred()
    assert len(tries) == 3


def test_a_coalescer_forgets_what_it_yielded() -> None:
    coalescer = Coalescer({"late": 10**18})
    message = b'{"eventTime":"2026-01-01T00:00:00Z","run":{"runId":"%b"},"job":{"namespace":"n","name":"j"}}'
    coalescer.add(message % b"a", source=(0, 0))
    assert [row[1] for row in coalescer.rows()] == [b"a"]
    assert (list(coalescer.rows()), coalescer.size) == ([], 0)
    with pytest.raises(EventRejected):
        coalescer.add(message % b"late")


def test_a_batch_can_be_applied_again_after_the_store_was_unavailable() -> None:
    away = iter([ServerUnavailable("Neo4j", "bolt://x", "start it")])

    def trouble(_writes: Writes) -> None:
        for fault in away:
            raise fault

    store = TroubledStore(trouble)
    given = rows("a", "b")
    writer = GraphWriter(store)
    with pytest.raises(ServerUnavailable):
        writer.apply(given, POSITION)
    assert dumped(store) == b""
    writer.apply(given, POSITION)
    assert dumped(store) == graph_of(given)
    assert store.announced == 1
    assert offsets_in(store) == '{"t":{"0":3}}'


def test_a_batch_of_only_dead_letters_commits_its_offsets() -> None:
    store = FakeStore()
    assert GraphWriter(store).apply([], POSITION).committed
    assert offsets_in(store) == '{"t":{"0":3}}'


def test_of_a_batch_with_something_refused_the_offsets_are_not_in_before_its_dead_letters_are_sent() -> None:
    def trouble(writes: Writes) -> None:
        if "bad" in runs_in(writes):
            raise StoreRefused("no")

    store = TroubledStore(trouble)
    writer = GraphWriter(store)
    report = writer.apply(rows("a", "bad", "c"), POSITION)
    assert [row.key for row in report.refused] == [b"bad"]
    assert (report.committed, offsets_in(store)) == (False, None)
    writer.commit_offsets(POSITION)
    assert offsets_in(store) == '{"t":{"0":3}}'


@pytest.mark.parametrize("runs", [1, 2, 100])
def test_the_last_transaction_of_a_batch_commits_its_offsets(runs: int) -> None:
    commits = []

    class Seen(FakeStore):
        @contextmanager
        def transaction(self) -> Iterator[FakeTransaction]:
            with super().transaction() as tx:
                yield tx
            commits.append((len(self.tables["Run"]), offsets_in(self)))

    store = Seen()
    GraphWriter(store, TransactionLimits(runs=runs)).apply(rows(*"abcd"), POSITION)
    assert {count for count, offsets in commits if offsets} == {4}
    assert {count for count, offsets in commits if not offsets} <= {0, 1, 2, 3}


def test_a_position_without_offsets_leaves_the_committed_offsets() -> None:
    store = FakeStore()
    GraphWriter(store).apply(rows("a"), POSITION)
    assert not GraphWriter(store).apply(rows("b"), replace(POSITION, offsets={})).committed
    assert offsets_in(store) == '{"t":{"0":3}}'


def test_a_store_that_refuses_an_empty_batch_is_an_error() -> None:
    class RefusingStore(FakeStore):
        @contextmanager
        def transaction(self) -> Iterator[FakeTransaction]:
            with super().transaction() as tx:
                yield tx
            raise StoreRefused("no")

    with pytest.raises(StoreRefused):
        GraphWriter(RefusingStore()).apply([], POSITION)


@pytest.mark.end_to_end
def test_the_graph_has_the_offsets_of_a_batch_of_only_dead_letters(servers: Servers) -> None:
    with opened(servers) as graph:
        writer = GraphWriter(emptied(graph))
        writer.apply(rows("a"), POSITION)
        writer.apply([], BatchPosition("q", 2, {"t": {0: 9}}))
        assert graph.committed_offsets() == CommittedOffsets({"t": {0: 9}}, "q/2")


@pytest.mark.end_to_end
def test_parameters_are_released_with_their_transaction(servers: Servers) -> None:
    """The driver's results are in reference cycles: without this, a batch would stay in memory until the collector runs."""
    text = "".join(["sent ", "once"])
    with opened(servers) as store:
        before = sys.getrefcount(text)
        gc.disable()
        try:
            with store.transaction() as tx:
                tx.write({"upsert_named_jobs": [{"key": "test-sent", "namespace": "n", "name": text}]})
                assert sys.getrefcount(text) > before
            assert sys.getrefcount(text) == before
        finally:
            gc.enable()
        emptied(store)
