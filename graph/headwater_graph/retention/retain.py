"""Retention: what setting the horizon to a time would remove, and setting it (specification 10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from headwater_avro.errors import ConfigError
from headwater_avro.times import format_time
from headwater_graph.apply.batch_writer import GraphWriter
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.model.values import Row, Writes
from headwater_graph.retention.removal import begin_retention, old_versions, pages
from headwater_graph.store.port import ScannedStore, Scans, Store, Transaction

EXAMPLES = 5
"""How many nodes of each kind are shown by their ids."""

ALL = 2**31
"""A limit without effect."""

REMOVALS = {
    "delete_runs": "runs",
    "set_placeholder_runs": "runs",
    "delete_job_versions": "job versions",
    "delete_dataset_versions": "dataset versions",
    "delete_job_events": "job events",
}
"""Statement -> the kind of the nodes that it removes."""

Progress = Callable[[Counter[str]], None]
"""Receives how many nodes of each kind are removed so far."""


@dataclass(slots=True)
class Removal:
    """Nodes of one kind to remove: how many, the oldest and newest time (microseconds since 1970-01-01 UTC), some ids."""

    count: int = 0
    oldest: int | None = None
    newest: int | None = None
    examples: list[str] = field(default_factory=list)

    def add(self, id_: str, time: int | None) -> None:
        """Count a node; ``time`` is None if it has no time."""
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(id_)
        if time is not None:
            self.oldest = time if self.oldest is None else min(self.oldest, time)
            self.newest = time if self.newest is None else max(self.newest, time)


def would_remove(store: ScannedStore, horizon: int) -> dict[str, Removal]:
    """Return what setting the horizon would remove, by kind; nothing is changed.

    Raises ConfigError if the horizon would move back.
    """
    _refuse_earlier(next((row["horizon"] for row in store.scan("read/horizon")), None), horizon)
    found = {kind: Removal() for kind in ("runs", "job versions", "job events", "dataset versions")}
    for row in store.scan("retain/runs", horizon=horizon, limit=ALL):
        found["runs"].add(row["id"], row["last"])
    for page in _pages(store, "retain/job_keys"):
        for _, old, _ in old_versions(store.scan, page, horizon):
            for version in old:
                found["job versions"].add(version.id, version.since[0])
        for row in store.scan("retain/job_events", keys=page, horizon=horizon, limit=ALL):
            found["job events"].add(row["key"], row["moment"])
    for page in _pages(store, "retain/dataset_keys"):
        for row in store.scan("retain/dataset_versions", keys=page, horizon=horizon, limit=ALL):
            found["dataset versions"].add(row["id"], row["moment"])
    for row in store.scan("retain/unmade_versions", horizon=horizon):
        found["dataset versions"].add(row["id"], None)
    return found


def _pages(store: Scans, name: str) -> Iterator[list[str]]:
    after = ""
    while page := list(pages(store.scan, name, after, TransactionLimits())):
        yield page
        after = page[-1]


def _refuse_earlier(now: int | None, horizon: int) -> None:
    if now is not None and horizon < now:
        raise ConfigError(
            f"the horizon is {format_time(now)} already and only moves forward, because what is before it was removed: "
            f"{format_time(horizon)} is earlier, give a later time"
        )


def retain(
    store: ScannedStore,
    horizon: int,
    limits: TransactionLimits | None = None,
    progress: Progress = lambda _removed: None,
) -> Counter[str]:
    """Set the horizon and remove what is before it; return how many nodes of each kind this call removed.

    It may be interrupted anywhere: whoever writes to the graph next, a consumer or another call, continues it.
    Raises ConfigError if the horizon would move back, ServerUnavailable while the graph can't be reached.
    """
    counting = _CountingStore(store, progress)
    writer = GraphWriter(counting, limits)
    begun = False
    while not begun:
        writer.run_all_deferred()
        begun = _begin(counting, horizon)
    writer.run_all_deferred()
    return counting.removed


def _begin(store: Store, horizon: int) -> bool:
    with store.transaction() as tx:
        _refuse_earlier(tx.horizon, horizon)
        if tx.deferred(1):
            return False
        begin_retention(tx, horizon)
    return True


class _CountingStore:
    """A store that counts what its transactions remove."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self._store = store
        self._progress = progress
        self.removed: Counter[str] = Counter()

    def announce(self, batch: int) -> None:
        """Nothing: no batch is being written."""

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._store.transaction() as tx:
            counting = _Counting(tx)
            yield cast("Transaction", counting)
        self.removed += counting.removed
        self._progress(self.removed)


class _Counting:
    """A transaction that counts what it removes."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.removed: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def write(self, writes: Writes) -> int:
        for name, rows in writes.items():
            if name in REMOVALS:
                self.removed[REMOVALS[name]] += len(rows)
        return self._tx.write(writes)


def shown(removal: Removal) -> Row:
    """Return a removal as JSON members; times are written as in specification 9.1."""
    times = {"oldest": removal.oldest, "newest": removal.newest}
    return asdict(removal) | {name: None if time is None else format_time(time) for name, time in times.items()}
