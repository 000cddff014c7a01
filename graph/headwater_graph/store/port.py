"""The store's port: bounded reads in, a plan out, all within one transaction (specification 11).

Two things stand behind it: :class:`headwater_graph.store.neo4j_store.Neo4jStore` and :class:`tests.fake_graph.store.FakeStore`.
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
    Statement,
    StoredDataset,
    StoredItem,
    StoredJob,
    StoredRead,
    StoredRun,
)


class Transaction(Protocol):
    """One atomic change of the graph: what was written within it is seen by its own reads.

    ``horizon`` is that of specification 7 as it was when the transaction began, in microseconds since 1970-01-01 UTC.
    """

    @property
    def horizon(self) -> int | None: ...

    def runs(self, ids: Iterable[str]) -> dict[str, StoredRun]:
        """Return the runs that are there, by runId."""

    def jobs(self, keys: Iterable[Key]) -> dict[Key, StoredJob]:
        """Return the jobs that are there."""

    def datasets(self, keys: Iterable[Key]) -> dict[Key, StoredDataset]:
        """Return the datasets that are there."""

    def made_before(self, asked: Sequence[tuple[Key, Moment, str]]) -> list[Made | None]:
        """Return for each (dataset, moment, runId) the latest version before the moment that the run did not make."""

    def made_after(self, asked: Sequence[tuple[Key, Moment]]) -> list[Made | None]:
        """Return for each (dataset, moment) the first version after the moment."""

    def exact_before(self, asked: Sequence[tuple[Key, str, Moment, str]]) -> list[Made | None]:
        """As :meth:`made_before`, for each (dataset, external version, moment, runId) among those that carry the external."""

    def readers_between(self, asked: Sequence[tuple[Key, Moment, Moment]], limit: int) -> list[list[StoredRead]]:
        """Return for each (dataset, after, until) the first ``limit`` inexact reads with ``after < moment <= until``."""

    def exact_readers(self, asked: Sequence[tuple[Key, str, Moment]], limit: int) -> list[list[StoredRead]]:
        """Return for each (dataset, external, after) the first ``limit`` reads of that external with ``after < moment``."""

    def last_exact_read(self, dataset: Key) -> StoredRead | None:
        """Return the read with the greatest moment among those that named an external version."""

    def inexact_read(self, dataset: Key) -> bool:
        """Tell whether any run reads the dataset without naming an external version."""

    def kept_after(self, dataset: Key, time: int) -> bool:
        """Tell whether a version that does not itself say DROP has a moment whose time is greater (specification 7)."""

    def items_from(self, asked: Sequence[tuple[Key, Moment]], limit: int) -> list[list[StoredItem]]:
        """Return for each (job, moment) the first ``limit`` items of the job's fold at or after the moment, by moment."""

    def items_before(self, job: Key, moment: Moment, limit: int) -> list[StoredItem]:
        """Return the last ``limit`` items of a job's fold before a moment, the latest first."""

    def versions_before(self, asked: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        """Return for each (job, moment) the job version with the greatest ``since`` before the moment."""

    def versions_between(self, asked: Sequence[tuple[Key, Moment, Moment]]) -> list[list[JobVersion]]:
        """Return for each (job, first, last) the job versions with ``first <= since <= last``, by ``since``."""

    def versions_after(self, asked: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        """Return for each (job, moment) the job version with the least ``since`` after the moment."""

    def last_runs_before(self, asked: Sequence[tuple[Key, Moment]]) -> list[tuple[str, Moment] | None]:
        """Return for each (job, moment) the job's versioned run with the greatest moment before: (runId, moment)."""

    def fields_joined(self, owners: Sequence[str]) -> set[FieldPath]:
        """Return the fields that the column edges of these owners join, each output of a job being one."""

    def deferred(self, limit: int) -> list[DeferredWork]:
        """Return work still owed, by kind and key.

        Columns come before folds: a fold that goes on counts the column edges that are there, so none may be under way.
        """

    def write(self, statements: Iterable[Statement]) -> int:
        """Carry out writes in their order; returns the number of rows."""

    def sweep(self, name: str, after: str, limit: int) -> str | None:
        """Take away up to ``limit`` things of a kind that follow from records, those after a key; returns the key to go on
        after, None where nothing was left.
        """

    def find(self, name: str, **parameters: object) -> list[Row]:
        """Return the rows of one of retention's questions, of the folder ``retain``; ``horizon`` is one of its parameters."""


class Store(Protocol):
    """A graph that transactions change one at a time."""

    def announce(self, batch: int) -> None:
        """Say which batch the next transactions belong to."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction, with the writer's lock held; leaving it by an exception undoes all.

        Raises ServerUnavailable while the graph can't be reached, StoreRefused where it won't take what was written.
        """


class Scans(Protocol):
    """A store that yields the rows of its scans."""

    def scan(self, name: str, **parameters: object) -> Iterator[Row]:
        """Yield the rows of a scan: ``scan/jobs``, ``check/runs`` and so on."""
