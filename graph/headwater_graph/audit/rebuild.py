"""Rebuilding the graph in place: all that follows from records is taken away, then settled again from them.

A mark in the graph, written first and taken off last, says that a rebuild is under way; while it stands nothing else is
written and no check is made. A rebuild that was broken off, at whatever point, is begun again: it takes away whatever is
there. Runs and events are settled in the order of their moments, so that each is folded onto what is current.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, cast

from msgspec import Struct

from headwater_avro.errors import StoreExhausted, StoreRefused
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key
from headwater_graph.apply.batch_writer import BatchPosition, GraphWriter
from headwater_graph.apply.deferred import REBUILD, RETAIN
from headwater_graph.apply.entities import write_names
from headwater_graph.apply.limits import TransactionLimits
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
    Statement,
    StoredDataset,
    StoredJob,
    StoredRun,
)
from headwater_graph.retention.retained import by_dataset, restore_retained_datasets, restore_retained_jobs
from headwater_graph.rules.coalesce import MergedRow, RowKind
from headwater_graph.rules.runs import read_run
from headwater_graph.store.port import Scans, Store, Transaction

SWEEPS = ("deferred_work", "edges", "nodes", "dataset_versions", "runs", "jobs", "datasets", "job_events")
"""What is taken away, in this order: edges before nodes, so that no deletion is larger than it looks."""

AT_ONCE = 500
"""How many records are read at a time."""

Progress = Callable[[str, int], None]
"""Told (what is being done, how much of it is done): a sweep by its transactions, ``names`` and ``runs and events`` by ones."""


class RebuiltStore(Store, Scans, Protocol):
    """What can be rebuilt: a store that can be scanned."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild derived the graph from."""

    jobs: int
    datasets: int
    runs_and_events: int


def rebuild(
    store: RebuiltStore, limits: TransactionLimits | None = None, progress: Progress = lambda _what, _done: None
) -> Rebuilt:
    """Derive everything in the graph anew from its records, which stay as they are.

    Raises ServerUnavailable while the graph can't be reached, StoreRefused where it won't take what follows from its own
    records; the mark stands then, and only another rebuild goes on.
    """
    limits = limits or TransactionLimits()
    while not _mark(store, limits):
        progress("retention", 1)
    for name in SWEEPS:
        _sweep(store, name, limits, progress)
    jobs, datasets = _put_names(store, limits, progress)
    _put_kept(store, limits, progress)
    told = _apply_again(store, limits, progress)
    with store.transaction() as tx:
        tx.write((Statement("delete_deferred_work", ({"key": REBUILD["key"]},)),))
    return Rebuilt(jobs, datasets, told)


def _mark(store: Store, limits: TransactionLimits) -> bool:
    """Set the mark; what lies before the horizon is removed before that, a piece at a time."""
    with store.transaction() as tx:
        deferred = [one for one in tx.deferred(1) if one.kind == RETAIN]
        if deferred:
            run_deferred(tx, deferred[0], limits)
        else:
            tx.write((Statement("upsert_deferred_work", (REBUILD,)),))
    return not deferred


def _sweep(store: Store, name: str, limits: TransactionLimits, progress: Progress) -> None:
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


def _put_names(store: RebuiltStore, limits: TransactionLimits, progress: Progress) -> tuple[int, int]:
    """Write jobs and datasets from their records; returns how many of each."""
    jobs, datasets = 0, 0
    for portion in _named(store, "scan/jobs", limits):
        with store.transaction() as tx:
            write_names(
                cast("Transaction", _Nameless(tx)), {key: unpack(record, JobRecord) for key, record in portion}, {}
            )
        jobs += len(portion)
        progress("names", jobs)
    for portion in _named(store, "scan/datasets", limits):
        with store.transaction() as tx:
            write_names(
                cast("Transaction", _Nameless(tx)), {}, {key: unpack(record, DatasetRecord) for key, record in portion}
            )
        datasets += len(portion)
        progress("names", jobs + datasets)
    return jobs, datasets


def _named(store: Scans, scan: str, limits: TransactionLimits) -> Iterator[list[tuple[Key, bytes]]]:
    """Yield jobs or datasets with their records, in portions for one transaction each."""
    portion: list[tuple[Key, bytes]] = []
    size = 0
    for row in store.scan(scan):
        if row["record"] is None:
            continue
        if portion and (len(portion) >= limits.runs or size + len(row["record"]) > limits.bytes):
            yield portion
            portion, size = [], 0
        portion.append(((row["key"][0], row["key"][1]), row["record"]))
        size += len(row["record"])
    if portion:
        yield portion


# ---- what retention keeps ------------------------------------------------------------------------------------------


def _put_kept(store: RebuiltStore, limits: TransactionLimits, progress: Progress) -> None:
    """Put what retention keeps (specification 7): of a job or dataset all at once, for as many as one transaction takes."""
    jobs: dict[Key, list[JobVersion]] = {}
    for row in store.scan("check/retained_job_versions"):
        key = (row["job"][0], row["job"][1])
        jobs.setdefault(key, []).append(version_of(row, key))
    for count, page in enumerate(_portions(sorted(jobs), limits.runs), 1):
        with store.transaction() as tx:
            restore_retained_jobs(tx, {key: sorted(jobs[key], key=lambda one: one.since) for key in page}, limits)
        progress("kept versions of jobs", count)
    datasets = by_dataset(store.scan("check/retained_dataset_versions"))
    for count, page in enumerate(_portions(sorted(datasets), limits.runs), 1):
        with store.transaction() as tx:
            restore_retained_datasets(tx, {key: datasets[key] for key in page})
        progress("kept versions of datasets", count)


def _portions(keys: Iterable[Key], size: int) -> Iterator[list[Key]]:
    waiting = iter(keys)
    while portion := list(islice(waiting, size)):
        yield portion


# ---- runs and events -----------------------------------------------------------------------------------------------


class Recorded(Struct, array_like=True):
    """What is to be settled again: a run's record of so many bytes, or an event, whose text is the second of its moment."""

    kind: RowKind
    size: int


def _apply_again(store: RebuiltStore, limits: TransactionLimits, progress: Progress) -> int:
    done = 0

    def counted(rows: Iterable[MergedRow]) -> Iterator[MergedRow]:
        nonlocal done
        for row in rows:
            yield row
            done += 1
            if done % AT_ONCE == 0:
                progress("runs and events", done)

    with Spill(Recorded) as recorded:
        for kind, moment, size in _recorded(store):
            recorded.add(moment_parts(moment), Recorded(kind, size))
        writer = GraphWriter(_ForgetfulStore(store), limits)
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
    """Yield what is recorded, oldest first; records are read a page at a time."""
    for page in _pages(((key[1], one) for key, one in recorded), limits.bytes):
        keys = [run_node_key(text) for text, one in page if one.kind == "run"]
        found = {row["id"]: row["record"] for row in store.scan("check/records", keys=keys)}
        for text, one in page:
            yield one.kind, text.encode(), found[text] if one.kind == "run" else text.encode(), b""


def _pages(recorded: Iterable[tuple[str, Recorded]], max_bytes: int) -> Iterator[list[tuple[str, Recorded]]]:
    page: list[tuple[str, Recorded]] = []
    size = 0
    for text, one in recorded:
        if page and (len(page) == AT_ONCE or size + one.size > max_bytes):
            yield page
            page, size = [], 0
        page.append((text, one))
        size += one.size
    yield page


# ---- a graph that holds records and has forgotten what follows from them --------------------------------------------


class _Forgetful:
    """A transaction that knows of a run that it is there and no more, so that its stored record is news, and owes nothing but
    what settling owes.
    """

    horizon = None

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def runs(self, ids: Iterable[str]) -> dict[str, StoredRun]:
        return {id_: StoredRun(None, None) for id_ in ids}

    def deferred(self, limit: int) -> list[DeferredWork]:
        return [one for one in self._tx.deferred(limit + 1) if one.kind != REBUILD["kind"]][:limit]


class _Nameless(_Forgetful):
    """A transaction that knows no job and no dataset yet either."""

    def jobs(self, keys: Iterable[Key]) -> dict[Key, StoredJob]:
        return {}

    def datasets(self, keys: Iterable[Key]) -> dict[Key, StoredDataset]:
        return {}


class _ForgetfulStore:
    """A store whose transactions settle stored records as if they were told for the first time."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def announce(self, batch: int) -> None:
        """Nothing: the mark of the last batch stays, the consumer goes on from there."""

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._store.transaction() as tx:
            yield cast("Transaction", _Forgetful(tx))
