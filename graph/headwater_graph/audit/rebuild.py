"""Rebuilding the graph in place: everything derived from records is deleted, then derived again from the records.

Theory of operation: records are never deleted here, and everything else in the graph is a function of them, so deleting and
deriving can stop at any point and start again from the beginning. A piece of deferred work of the kind ``rebuild`` is
written first and deleted last. While it exists the consumer writes nothing and no check is made, so nobody reads a graph
that is half rebuilt as if it were complete.

1. Deferred retention is completed, since it needs the derived graph. Then the ``rebuild`` work is written.
2. Derived edges and nodes are deleted in bounded transactions, in ``DELETION_ORDER``.
3. Jobs, datasets and what retention has kept are written from their records.
4. Runs and events are applied by the same code that the consumer uses, through a store that hides what is known of them
   (``_RecordsOnlyStore``), so that each record counts as new. They are applied in the order of their moments, so each is
   folded onto the current version and no earlier version is folded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, cast

from msgspec import Struct

from headwater_avro.errors import StoreExhausted, StoreRefused
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key
from headwater_graph.apply.batch_writer import BatchPosition, GraphWriter
from headwater_graph.apply.deferred import REBUILD, RETAIN
from headwater_graph.apply.entities import write_names
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.merged import divided
from headwater_graph.apply.transaction import run_deferred
from headwater_graph.audit.rederive.spill import Spill, moment_parts
from headwater_graph.model.node_keys import run_node_key
from headwater_graph.model.properties import version_of
from headwater_graph.model.records import DatasetRecord, JobRecord, RunRecord, unpack
from headwater_graph.model.values import (
    EARLIEST,
    DeferredWork,
    JobVersion,
    Moment,
    StoredDataset,
    StoredJob,
    StoredRun,
)
from headwater_graph.retention.retained import by_dataset, restore_retained_datasets, restore_retained_jobs
from headwater_graph.rules.coalesce import MergedRow, RowKind
from headwater_graph.rules.runs import read_run
from headwater_graph.store.port import ScannedStore, Scans, Store, Transaction

DELETION_ORDER = ("deferred_work", "edges", "nodes", "dataset_versions", "runs", "jobs", "datasets", "job_events")
"""What is deleted, in this order: edges before nodes, so that deleting a node never deletes an unbounded number of edges."""

PAGE_SIZE = 500
"""How many records are read at a time, and how many are applied between two calls of ``Progress``."""

Progress = Callable[[str, int], None]
"""Called with (step, count so far): a count of transactions for a deletion, of entities for ``names`` and ``runs and events``."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The number of records that a rebuild has derived the graph from."""

    jobs: int
    datasets: int
    runs_and_events: int


def rebuild(
    store: ScannedStore, limits: TransactionLimits | None = None, progress: Progress = lambda _what, _done: None
) -> Rebuilt:
    """Derive everything in the graph again from its records, which stay unchanged.

    Raises ServerUnavailable while the graph can't be reached, StoreRefused if it refuses what is derived from its records.
    The graph then stays unusable until another rebuild succeeds.
    """
    limits = limits or TransactionLimits()
    while not _begin(store, limits):
        progress("retention", 1)
    for name in DELETION_ORDER:
        _delete_derived(store, name, limits, progress)
    jobs, datasets = _write_names(store, limits, progress)
    _restore_retained(store, limits, progress)
    applied = _apply_again(store, limits, progress)
    with store.transaction() as tx:
        tx.write({"delete_deferred_work": [{"key": REBUILD["key"]}]})
    return Rebuilt(jobs, datasets, applied)


def _begin(store: Store, limits: TransactionLimits) -> bool:
    """Run one piece of deferred retention, or write the ``rebuild`` work if there is none; return whether it was written."""
    with store.transaction() as tx:
        deferred = [work for work in tx.deferred(1) if work.kind == RETAIN]
        if deferred:
            run_deferred(tx, deferred, limits)
        else:
            tx.write({"upsert_deferred_work": [REBUILD]})
    return not deferred


def _delete_derived(store: Store, name: str, limits: TransactionLimits, progress: Progress) -> None:
    after: str | None = ""
    done = 0
    while after is not None:
        try:
            with store.transaction() as tx:
                after = tx.run_rebuild_page(name, after, limits.rows)
        except StoreExhausted:
            if limits.rows == limits.halved().rows:
                raise
            limits = limits.halved()
        done += 1
        progress(name, done)


# ---- names ---------------------------------------------------------------------------------------------------------


def _write_names(store: ScannedStore, limits: TransactionLimits, progress: Progress) -> tuple[int, int]:
    """Write jobs and datasets from their records; return the number of each."""
    jobs, datasets = 0, 0
    for portion in _named(store, "scan/jobs", limits):
        _write_portion(store, {key: unpack(record, JobRecord) for key, record in portion}, {})
        jobs += len(portion)
        progress("names", jobs)
    for portion in _named(store, "scan/datasets", limits):
        _write_portion(store, {}, {key: unpack(record, DatasetRecord) for key, record in portion})
        datasets += len(portion)
        progress("names", jobs + datasets)
    return jobs, datasets


def _write_portion(store: Store, jobs: dict[Key, JobRecord], datasets: dict[Key, DatasetRecord]) -> None:
    with store.transaction() as tx:
        write_names(cast("Transaction", _NamelessTransaction(tx)), jobs, datasets)


def _named(store: Scans, scan: str, limits: TransactionLimits) -> Iterator[list[tuple[Key, bytes]]]:
    """Yield jobs or datasets with their records, in portions that each fit in one transaction."""
    named = (((row["key"][0], row["key"][1]), row["record"]) for row in store.scan(scan) if row["record"] is not None)
    return divided(named, limits.runs, limits.bytes, lambda item: len(item[1]))


# ---- what retention has kept ---------------------------------------------------------------------------------------


def _restore_retained(store: ScannedStore, limits: TransactionLimits, progress: Progress) -> None:
    """Write the versions that retention has kept (specification 7), all versions of a job or dataset in one transaction."""
    jobs: dict[Key, list[JobVersion]] = {}
    for row in store.scan("check/retained_job_versions"):
        key = (row["job"][0], row["job"][1])
        jobs.setdefault(key, []).append(version_of(row, key))
    for count, page in enumerate(_portions(sorted(jobs), limits.runs), 1):
        with store.transaction() as tx:
            restore_retained_jobs(tx, {key: sorted(jobs[key], key=attrgetter("since")) for key in page}, limits)
        progress("retained versions of jobs", count)
    datasets = by_dataset(store.scan("check/retained_dataset_versions"))
    for count, page in enumerate(_portions(sorted(datasets), limits.runs), 1):
        with store.transaction() as tx:
            restore_retained_datasets(tx, {key: datasets[key] for key in page})
        progress("retained versions of datasets", count)


def _portions(keys: Iterable[Key], size: int) -> Iterator[list[Key]]:
    waiting = iter(keys)
    while portion := list(islice(waiting, size)):
        yield portion


# ---- runs and events -----------------------------------------------------------------------------------------------


class Recorded(Struct, array_like=True):
    """A stored run or event and the bytes of its record or text; the text of an event is the second part of its moment."""

    kind: RowKind
    size: int


def _apply_again(store: ScannedStore, limits: TransactionLimits, progress: Progress) -> int:
    done = 0

    def counted(rows: Iterable[MergedRow]) -> Iterator[MergedRow]:
        nonlocal done
        for row in rows:
            yield row
            done += 1
            if done % PAGE_SIZE == 0:
                progress("runs and events", done)

    with Spill(Recorded) as recorded:
        for kind, moment, size in _recorded(store):
            recorded.add(moment_parts(moment), Recorded(kind, size))
        writer = GraphWriter(_RecordsOnlyStore(store), limits)
        report = writer.apply(counted(_rows(store, recorded, limits)), BatchPosition("rebuild", 0, {}))
    if report.refused:
        first = report.refused[0]
        raise StoreRefused(
            f"{len(report.refused)} stored records, first {first.kind} {first.key.decode()}: {first.detail}"
        )
    return done


def _recorded(store: Scans) -> Iterator[tuple[RowKind, Moment, int]]:
    for row in store.scan("check/runs"):
        moment = read_run(row["id"], unpack(row["record"], RunRecord)).moment
        yield "run", moment or (EARLIEST[0], row["id"]), len(row["record"])
    for row in store.scan("check/job_events"):
        yield "job_event", (read_event(row["text"].encode()).time, row["text"]), len(row["text"])
    for row in store.scan("check/dataset_events"):
        yield "dataset_event", (read_event(row["text"].encode()).time, row["text"]), len(row["text"])


def _rows(store: Scans, recorded: Spill[Recorded], limits: TransactionLimits) -> Iterator[MergedRow]:
    """Yield stored runs and events by moment; records are read a page at a time."""
    texts = ((key[1], entity) for key, entity in recorded)
    for page in divided(texts, PAGE_SIZE, limits.bytes, lambda item: item[1].size):
        keys = [run_node_key(text) for text, entity in page if entity.kind == "run"]
        found = {row["id"]: row["record"] for row in store.scan("check/records", keys=keys)}
        for text, entity in page:
            yield entity.kind, text.encode(), found[text] if entity.kind == "run" else text.encode(), b""


# ---- a graph that has records, and nothing derived from them --------------------------------------------------------


class _RecordsOnlyTransaction:
    """A transaction that reports every run as present but without a record, and hides the ``rebuild`` work.

    The stored record of a run then counts as new.
    """

    horizon = None

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def runs(self, ids: Iterable[str]) -> dict[str, StoredRun]:
        return {id_: StoredRun(None, None) for id_ in ids}

    def deferred(self, limit: int) -> list[DeferredWork]:
        return [work for work in self._tx.deferred(limit + 1) if work.kind != REBUILD["kind"]][:limit]


class _NamelessTransaction(_RecordsOnlyTransaction):
    """A transaction that also reports no job and no dataset as present."""

    def jobs(self, keys: Iterable[Key]) -> dict[Key, StoredJob]:
        return {}

    def datasets(self, keys: Iterable[Key]) -> dict[Key, StoredDataset]:
        return {}


class _RecordsOnlyStore:
    """A store whose transactions apply stored records as if they came for the first time."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def announce(self, batch: int) -> None:
        """Do nothing: the committed offsets stay, and the consumer continues from them."""

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._store.transaction() as tx:
            yield cast("Transaction", _RecordsOnlyTransaction(tx))
