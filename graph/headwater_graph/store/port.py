"""The store's port: the bounded reads and the writes of one transaction (specification 11).

It has two implementations: ``headwater_graph.store.neo4j_store.Neo4jStore``, and a fake in memory for tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from headwater_avro.names import Key
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


class Transaction(Protocol):
    """One atomic change of the graph, which reads what it has written.

    ``horizon`` is the horizon when the transaction began (specification 7), in microseconds since 1970-01-01 UTC.
    """

    @property
    def horizon(self) -> int | None: ...

    def runs(self, ids: Iterable[str]) -> dict[str, StoredRun]:
        """Return the runs that have a node, by runId."""

    def jobs(self, keys: Iterable[Key]) -> dict[Key, StoredJob]:
        """Return the jobs that have a node."""

    def datasets(self, keys: Iterable[Key]) -> dict[Key, StoredDataset]:
        """Return the datasets that have a node."""

    def made_before(self, queries: Sequence[tuple[Key, Moment, str]]) -> list[Made | None]:
        """Return for each (dataset, moment, runId) the latest version before the moment that the run did not make."""

    def made_after(self, queries: Sequence[tuple[Key, Moment]]) -> list[Made | None]:
        """Return for each (dataset, moment) the first version after the moment."""

    def exact_before(self, queries: Sequence[tuple[Key, str, Moment, str]]) -> list[Made | None]:
        """Return for each (dataset, external, moment, runId) the result of ``made_before`` for versions with that external."""

    def readers_between(self, queries: Sequence[tuple[Key, Moment, Moment]], limit: int) -> list[list[StoredRead]]:
        """Return for each (dataset, after, until) the first ``limit`` inexact reads with ``after < moment <= until``."""

    def exact_readers(self, queries: Sequence[tuple[Key, str, Moment]], limit: int) -> list[list[StoredRead]]:
        """Return for each (dataset, external version, after) the first ``limit`` reads that named it with ``after < moment``."""

    def last_exact_read(self, dataset: Key) -> StoredRead | None:
        """Return the dataset's read with the greatest moment among those that named an external version."""

    def has_inexact_read(self, dataset: Key) -> bool:
        """Return whether any run reads the dataset without naming an external version."""

    def has_live_version_after(self, dataset: Key, time: int) -> bool:
        """Return whether a version that does not itself say DROP is later than a time (specification 7)."""

    def items_from(self, queries: Sequence[tuple[Key, Moment]], limit: int) -> list[list[StoredItem]]:
        """Return for each (job, moment) the first ``limit`` items of the job's fold at or after the moment, by moment."""

    def items_before(self, job: Key, moment: Moment, limit: int) -> list[StoredItem]:
        """Return the last ``limit`` items of a job's fold before a moment, the latest first."""

    def versions_before(self, queries: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        """Return for each (job, moment) the job version with the greatest ``since`` before the moment."""

    def versions_between(self, queries: Sequence[tuple[Key, Moment, Moment]]) -> list[list[JobVersion]]:
        """Return for each (job, first, last) the job versions with ``first <= since <= last``, by ``since``."""

    def versions_after(self, queries: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        """Return for each (job, moment) the job version with the least ``since`` after the moment."""

    def last_runs_before(self, queries: Sequence[tuple[Key, Moment]]) -> list[tuple[str, Moment] | None]:
        """Return for each (job, moment) the job's versioned run with the greatest moment before: (runId, moment)."""

    def fields_joined(self, owners: Sequence[str]) -> set[FieldPath]:
        """Return the fields that the column edges of these owners connect; an owner is an output of a job."""

    def deferred(self, limit: int) -> list[DeferredWork]:
        """Return up to ``limit`` pieces of deferred work, by kind and key.

        Columns come before folds: a continued fold counts the existing column edges, so all of them must be written.
        """

    def write(self, writes: Writes) -> int:
        """Run writes in their order, and return the number of rows."""

    def run_rebuild_page(self, name: str, after: str, limit: int) -> str | None:
        """Run a statement of the folder ``rebuild`` on a page of up to ``limit`` nodes or edges that follow ``after``.

        Return the ``after`` of the next page, None after the last one.
        """

    def find(self, name: str, **parameters: object) -> list[Row]:
        """Return the rows of a statement of the folder ``retain``; ``horizon`` is one of its parameters."""


class Store(Protocol):
    """A graph that one transaction at a time changes."""

    def announce(self, batch: int) -> None:
        """Set the batch that the next transactions belong to."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction that holds the writer's lock; an exception rolls it back.

        Raises ServerUnavailable if the graph can't be reached, StoreRefused if it refuses what was written.
        """


class Scans(Protocol):
    """A store that yields the rows of its scans."""

    def scan(self, name: str, **parameters: object) -> Iterator[Row]:
        """Yield the rows of a scan: ``scan/jobs``, ``check/runs`` and so on."""


class ScannedStore(Store, Scans, Protocol):
    """A store that can be changed, and scanned as a whole."""
