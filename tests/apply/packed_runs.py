"""Runs as packed records for the writer: no message is parsed, so that large graphs are made fast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from headwater_avro.events import COMPLETE
from headwater_avro.names import Key
from headwater_graph.apply.batch_writer import BatchPosition, BatchReport, GraphWriter
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.audit.rebuild import DELETION_ORDER
from headwater_graph.model.records import Facets, Listing, Naming, RunRecord, pack
from headwater_graph.model.values import Writes
from headwater_graph.rules.coalesce import MergedRow
from headwater_graph.store.neo4j_store import Neo4jStore
from headwater_graph.store.port import Store, Transaction

from ..fake_graph.store import FakeStore, FakeTransaction

SECOND = 1_000_000
START = 1_700_000_000 * SECOND

Side = dict[Key, dict[str, bytes]]
"""Datasets with the facets they are listed with."""


def dataset(name: str) -> Key:
    return ("d", name)


def side(*names: str) -> Side:
    return {dataset(name): {} for name in names}


def run(
    id_: str,
    second: float,
    inputs: Side,
    outputs: Side,
    *,
    job: str = "job",
    code: str | None = None,
    facets: dict[str, bytes] | None = None,
) -> MergedRow:
    """A run that completed at a second, as a row of the coalescer."""
    time = START + int(second * SECOND)
    located = {"sourceCodeLocation": b'{"version":"%b"}' % code.encode()} if code else {}
    record = RunRecord(
        jobs={("j", job): Naming(time, COMPLETE, _instances(located, time))},
        first=time,
        last=time,
        started=time,
        ended=time,
        terminal=COMPLETE,
        opened=True,
        facets=_instances(facets or {}, time),
        inputs=_listings(inputs, time),
        outputs=_listings(outputs, time),
    )
    return "run", id_.encode(), pack(record), b""


def _instances(facets: dict[str, bytes], time: int) -> Facets:
    return {name: (time, COMPLETE, text) for name, text in facets.items()}


def _listings(side: Side, time: int) -> dict[Key, Listing]:
    return {key: Listing(time, time, COMPLETE, _instances(facets, time), {}) for key, facets in side.items()}


def write(store: Store, rows: Iterable[MergedRow], limits: TransactionLimits | None = None) -> BatchReport:
    return GraphWriter(store, limits).apply(rows, BatchPosition("test", 0, {}))


def emptied(store: Neo4jStore) -> Neo4jStore:
    """Delete everything in the graph but its schema, edges before nodes, so that no transaction is large."""
    for name in DELETION_ORDER:
        after: str | None = ""
        while after is not None:
            with store.transaction() as tx:
                after = tx.run_rebuild_page(name, after, 20_000)
    with store.driver.session(database="neo4j") as session:
        session.run(
            "MATCH (n) WHERE NOT n:HeadwaterSchema CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS"
        ).consume()
    return store


class Watched:
    """A store that notes how many rows each transaction wrote, and how many stored items it read."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rows: list[int] = []
        self.items: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def announce(self, batch: int) -> None:
        self.store.announce(batch)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self.store.transaction() as tx:
            watched = _WatchedTransaction(tx)
            yield watched
        self.rows.append(watched.rows)
        if isinstance(tx, FakeTransaction):
            self.items.append(tx.items_read)


class _WatchedTransaction:
    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.rows = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def write(self, writes: Writes) -> int:
        written = self._tx.write(writes)
        self.rows += written
        return written


def history(runs: int) -> FakeStore:
    """A store that holds one job with so many runs, two seconds apart, all of one version."""
    store = FakeStore()
    store.tables = {name: dict(table) for name, table in _history(runs).tables.items()}
    return store


@cache
def _history(runs: int) -> FakeStore:
    store = FakeStore()
    write(store, [run(f"r{at:05}", at * 2, side("in"), side("out"), code="1") for at in range(runs)])
    return store
