"""A fake graph in memory with the same port as Neo4j, for tests that need many graphs and no server.

Nodes and edges are rows in tables; a row is replaced, never changed, so a copy of the tables is a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from headwater_avro.names import Key, node_key
from headwater_graph.model.properties import retained_read, version_of
from headwater_graph.model.values import (
    DeferredWork,
    FieldPath,
    JobVersion,
    Made,
    Moment,
    Row,
    StoredDataset,
    StoredItem,
    StoredJob,
    StoredRead,
    StoredRun,
    Writes,
)

from .checks import CHECK_SCANS
from .fields import fields_joined
from .rebuild import REBUILD_PAGES
from .retention import FINDS
from .scans import SCANS, moment_of
from .writes import WRITES

Table: TypeAlias = dict[Any, Row]

_NODES = ("Job", "Dataset", "Run", "JobVersion", "DatasetVersion", "JobEvent", "Field", "DeferredWork", "Writer")
_EDGES = ("RUN_OF", "RAN", "CHILD_OF", "ALIAS_OF", "WROTE", "READ_BY", "FEEDS", "PRODUCES", "DERIVES")


class FakeStore:
    """A graph in memory; ``tables`` holds its nodes by key and its edges by (from, to)."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {name: {} for name in (*_NODES, *_EDGES)}
        self.announced: int | None = None

    @contextmanager
    def transaction(self) -> Iterator[FakeTransaction]:
        """Begin a transaction; an exception rolls it back."""
        before = {name: dict(table) for name, table in self.tables.items()}
        try:
            yield FakeTransaction(self.tables)
        except BaseException:
            self.tables = before
            raise
        writer = self.tables["Writer"]
        known = writer.get("consumer", {})
        writer["consumer"] = known | {"epoch": known.get("epoch", 0) + 1}

    def announce(self, batch: int) -> None:
        """Set the batch that the next transactions belong to; tests read it."""
        self.announced = batch

    def scan(self, name: str, **parameters: object) -> Iterator[Row]:
        """Yield the rows of one of the scans of a dump or a check, as they are now: it does not see later writes."""
        tables = {label: dict(table) for label, table in self.tables.items()}
        return (SCANS | CHECK_SCANS | FINDS)[name](tables, **parameters)

    def has_deferred_work(self) -> bool:
        """Return whether there is deferred work; answers are final when there is none."""
        return bool(self.tables["DeferredWork"])


def _made(row: Row) -> Made:
    return Made(row["id"], moment_of(row), row["madeBy"], row["external"], bool(row["drops"]))


class FakeTransaction:
    """Reads and writes of one transaction on tables in memory; counts the stored items that it returns."""

    def __init__(self, tables: dict[str, Table]) -> None:
        self.tables = tables
        self.items_read = 0
        self.horizon: int | None = tables["Writer"].get("consumer", {}).get("horizon")

    # -- reads ----------------------------------------------------------------------------------------------------

    def runs(self, ids: Iterable[str]) -> dict[str, StoredRun]:
        found = {id_: (key, self.tables["Run"].get(key)) for id_ in ids for key in (node_key("run", id_),)}
        return {
            id_: StoredRun(
                row.get("record"),
                self.tables["RAN"].get(key, {}).get("version"),
                bool(row.get("removed")),
                row.get("horizon"),
            )
            for id_, (key, row) in found.items()
            if row is not None
        }

    def jobs(self, keys: Iterable[Key]) -> dict[Key, StoredJob]:
        found = {key: self.tables["Job"].get(node_key("job", *key)) for key in keys}
        return {
            key: StoredJob(
                row.get("record"), row.get("fold"), self._job_version(row.get("current")), row.get("retainedSources")
            )
            for key, row in found.items()
            if row is not None
        }

    def _job_version(self, id_: str | None) -> JobVersion | None:
        row = self.tables["JobVersion"].get(id_)
        return None if row is None else self._version(row)

    def _version(self, row: Row) -> JobVersion:
        job = self.tables["Job"][row["job"]]
        return version_of(row, (job["namespace"], job["name"]))

    def datasets(self, keys: Iterable[Key]) -> dict[Key, StoredDataset]:
        found = {key: self.tables["Dataset"].get(node_key("dataset", *key)) for key in keys}
        return {
            key: StoredDataset(
                row.get("record"),
                self._latest(key),
                row.get("current"),
                bool(row.get("saysDrop")),
                retained_read(row.get("retainedRead")),
            )
            for key, row in found.items()
            if row is not None
        }

    def _latest(self, dataset: Key) -> Made | None:
        return max(self._all_made(dataset), key=lambda made: made.moment, default=None)

    def _all_made(self, dataset: Key) -> list[Made]:
        hash_ = node_key("dataset", *dataset)
        rows = self.tables["DatasetVersion"].values()
        return [_made(row) for row in rows if row["dataset"] == hash_ and row.get("moment") is not None]

    def made_before(self, queries: Sequence[tuple[Key, Moment, str]]) -> list[Made | None]:
        return [
            max(
                (made for made in self._all_made(dataset) if made.moment < moment and made.made_by != run_id),
                key=lambda made: made.moment,
                default=None,
            )
            for dataset, moment, run_id in queries
        ]

    def made_after(self, queries: Sequence[tuple[Key, Moment]]) -> list[Made | None]:
        return [
            min(
                (made for made in self._all_made(dataset) if made.moment > moment),
                key=lambda made: made.moment,
                default=None,
            )
            for dataset, moment in queries
        ]

    def exact_before(self, queries: Sequence[tuple[Key, str, Moment, str]]) -> list[Made | None]:
        return [
            max(
                (
                    made
                    for made in self._all_made(dataset)
                    if made.external == external and made.moment < moment and made.made_by != run_id
                ),
                key=lambda made: made.moment,
                default=None,
            )
            for dataset, external, moment, run_id in queries
        ]

    def _reads(self, dataset: Key) -> list[StoredRead]:
        hash_ = node_key("dataset", *dataset)
        rows = [(run, row) for (run, of), row in self.tables["READ_BY"].items() if of == hash_]
        reads = []
        for run, row in rows:
            id_ = self.tables["Run"][run]["id"]
            reads.append(StoredRead(id_, (row["moment"], id_), row["version"], row["external"]))
        return sorted(reads, key=lambda read: read.moment)

    def readers_between(self, queries: Sequence[tuple[Key, Moment, Moment]], limit: int) -> list[list[StoredRead]]:
        return [
            [read for read in self._reads(dataset) if read.external is None and after < read.moment <= until][:limit]
            for dataset, after, until in queries
        ]

    def exact_readers(self, queries: Sequence[tuple[Key, str, Moment]], limit: int) -> list[list[StoredRead]]:
        return [
            [read for read in self._reads(dataset) if read.external == external and read.moment > after][:limit]
            for dataset, external, after in queries
        ]

    def last_exact_read(self, dataset: Key) -> StoredRead | None:
        exact = [read for read in self._reads(dataset) if read.external is not None]
        return exact[-1] if exact else None

    def has_inexact_read(self, dataset: Key) -> bool:
        return any(read.external is None for read in self._reads(dataset))

    def has_live_version_after(self, dataset: Key, time: int) -> bool:
        return any(made.moment[0] > time and not made.drops for made in self._all_made(dataset))

    def _items(self, job: Key) -> list[StoredItem]:
        hash_ = node_key("job", *job)
        items = [
            StoredItem(moment_of(row), row["id"], row["record"], self.tables["RAN"].get(key, {}).get("version"))
            for key, row in self.tables["Run"].items()
            if row.get("job") == hash_ and row.get("moment") is not None
        ]
        items += [
            StoredItem(moment_of(row), None, row["text"].encode(), row.get("version"))
            for row in self.tables["JobEvent"].values()
            if row["job"] == hash_ and row.get("moment") is not None
        ]
        return sorted(items, key=lambda item: item.moment)

    def items_from(self, queries: Sequence[tuple[Key, Moment]], limit: int) -> list[list[StoredItem]]:
        found = [[item for item in self._items(job) if item.moment >= moment][:limit] for job, moment in queries]
        self.items_read += sum(map(len, found))
        return found

    def items_before(self, job: Key, moment: Moment, limit: int) -> list[StoredItem]:
        items = [item for item in reversed(self._items(job)) if item.moment < moment][:limit]
        self.items_read += len(items)
        return items

    def _versions(self, job: Key) -> list[JobVersion]:
        hash_ = node_key("job", *job)
        rows = self.tables["JobVersion"].values()
        versions = [self._version(row) for row in rows if row["job"] == hash_ and row.get("moment") is not None]
        return sorted(versions, key=lambda version: version.since)

    def versions_before(self, queries: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        return [
            next((version for version in reversed(self._versions(job)) if version.since < moment), None)
            for job, moment in queries
        ]

    def versions_between(self, queries: Sequence[tuple[Key, Moment, Moment]]) -> list[list[JobVersion]]:
        return [
            [version for version in self._versions(job) if first <= version.since <= last]
            for job, first, last in queries
        ]

    def versions_after(self, queries: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        return [
            next((version for version in self._versions(job) if version.since > moment), None)
            for job, moment in queries
        ]

    def last_runs_before(self, queries: Sequence[tuple[Key, Moment]]) -> list[tuple[str, Moment] | None]:
        return [self._last_run_before(job, moment) for job, moment in queries]

    def _last_run_before(self, job: Key, moment: Moment) -> tuple[str, Moment] | None:
        runs = [item for item in self._items(job) if item.run_id is not None and item.moment < moment]
        return (runs[-1].run_id or "", runs[-1].moment) if runs else None

    def fields_joined(self, owners: Sequence[str]) -> set[FieldPath]:
        return fields_joined(self.tables, owners)

    def deferred(self, limit: int) -> list[DeferredWork]:
        found = [DeferredWork(key, row["kind"], row["body"]) for key, row in self.tables["DeferredWork"].items()]
        return sorted(found, key=lambda deferred: (deferred.key != "!", deferred.kind, deferred.key))[:limit]

    # -- writes ---------------------------------------------------------------------------------------------------

    def write(self, writes: Writes) -> int:
        for name, rows in writes.items():
            apply = WRITES[name]
            for row in rows:
                apply(self.tables, row)
        return sum(map(len, writes.values()))

    def run_rebuild_page(self, name: str, after: str, limit: int) -> str | None:
        return REBUILD_PAGES[name](self.tables, after, limit)

    def find(self, name: str, **parameters: object) -> list[Row]:
        return list(FINDS[name](self.tables, **parameters))
