"""The implementation of the store's port on Neo4j (see ``port``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self, TypeVar

import neo4j

from headwater_avro.names import Key, node_key
from headwater_graph.model.properties import retained_read, version_of
from headwater_graph.model.values import (
    EARLIEST,
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
from headwater_graph.settings import GraphSettings
from headwater_graph.store import schema
from headwater_graph.store.connection import connected, translated
from headwater_graph.store.node_summary import AffectedNodes
from headwater_graph.store.parameters import TIE_LENGTH, job_rows, moment_row, parameter_rows, with_horizon
from headwater_graph.store.statements import cypher, prepared
from headwater_graph.store.writer_node import CommittedOffsets, committed_offsets_in

Value = TypeVar("Value")


class Neo4jStore:
    """A graph in Neo4j. ``holder`` is the name that other writers see while this one holds the lock.

    Entering it, or its first use, raises ServerUnavailable, or ConfigError if the server refuses the account.
    """

    def __init__(self, settings: GraphSettings, holder: str = "headwater") -> None:
        self.settings = settings
        self.holder = holder
        self.batch = -1
        self._exits = ExitStack()
        self._driver: neo4j.Driver | None = None

    def __enter__(self) -> Self:
        with translated(self.settings):
            self._driver = self._exits.enter_context(connected(self.settings))
            self._driver.verify_connectivity()
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    @property
    def driver(self) -> neo4j.Driver:
        """The open driver."""
        if self._driver is None:
            self.__enter__()
        assert self._driver is not None
        return self._driver

    @contextmanager
    def transaction(self) -> Iterator[Neo4jTransaction]:
        """Begin a transaction that holds the writer's lock; an exception rolls it back.

        Raises ServerUnavailable, StoreBusy, StoreExhausted or StoreRefused; SchemaMismatch if the graph has another schema.
        """
        with (
            translated(self.settings),
            self.driver.session(database=self.settings.database) as session,
            session.begin_transaction(metadata={"writer": self.holder}, timeout=self.settings.write_timeout) as tx,
        ):
            locked = tx.run(*prepared("write/lock", {"holder": self.holder, "batch": self.batch}))
            writer = next(locked)
            # The graph may have been migrated since this writer began.
            schema.check(writer["schema"])
            transaction = Neo4jTransaction(tx, writer["horizon"])
            try:
                yield transaction
                transaction.write_summaries()
                tx.commit()
            finally:
                transaction.clear_parameters()

    def announce(self, batch: int) -> None:
        """Set the batch that the next transactions belong to; operators can read it from the node ``Writer``."""
        self.batch = batch

    def held_by(self) -> str | None:
        """Return the name of the writer that this one waits for, None if it does not wait. Raises ServerUnavailable."""
        writers = self._records(cypher("read/writers"))
        return next((str(row["writer"]) for row in writers if not row["waits"] and row["writer"] != self.holder), None)

    def committed_offsets(self) -> CommittedOffsets:
        """Return up to which offsets messages are in the graph, and which batch was the last. Raises ServerUnavailable."""
        rows = self._records(cypher("read/horizon"))
        return committed_offsets_in(rows[0]) if rows else CommittedOffsets()

    def scan(self, name: str, **parameters: Any) -> Iterator[Row]:
        """Yield the rows of a scan of a dump or a check as the server sends them."""
        with (
            translated(self.settings),
            self.driver.session(database=self.settings.database, fetch_size=1000) as session,
        ):
            for record in session.run(*prepared(name, with_horizon(parameters))):
                yield dict(record)

    def has_deferred_work(self) -> bool:
        """Return whether there is deferred work; answers are final when there is none."""
        return bool(self._records("MATCH (o:DeferredWork) RETURN o.key LIMIT 1"))

    def _records(self, text: str) -> list[neo4j.Record]:
        with translated(self.settings):
            return self.driver.execute_query(text, database_=self.settings.database).records


class Neo4jTransaction:
    """Reads and writes of one Neo4j transaction."""

    def __init__(self, tx: neo4j.Transaction, horizon: int | None = None) -> None:
        self._tx = tx
        self._sent: list[dict[str, Any]] = []
        self._affected = AffectedNodes()
        self.horizon = horizon

    def clear_parameters(self) -> None:
        """Clear all parameters that were sent: the driver's results refer to them in reference cycles."""
        for parameters in self._sent:
            parameters.clear()

    def _run(self, name: str, parameters: dict[str, Any]) -> neo4j.Result:
        text, sent = prepared(name, parameters)
        self._sent += sent.values()
        return self._tx.run(text, sent)

    def _rows(self, name: str, **parameters: Any) -> list[Row]:
        # `data()` would visit every value of a record.
        return [dict(record) for record in self._run(name, parameters)]

    def _rows_of_many(self, name: str, rows: Sequence[Row], **parameters: Any) -> list[Row]:
        """Return the rows for many keys. The server sends them as one record: a record for each costs the driver more."""
        if not rows:
            return []
        (record,) = self._run(name, {"rows": rows, **parameters})
        found: list[Row] = record["rows"]
        return found

    def _listed(
        self, name: str, rows: Sequence[Row], read: Callable[[Row], Value], **parameters: Any
    ) -> list[list[Value]]:
        """Return the values of the rows that are found for each of some rows."""
        found: list[list[Value]] = [[] for _ in rows]
        numbered = [{"number": number} | row for number, row in enumerate(rows)]
        for row in self._rows_of_many(name, numbered, **parameters):
            found[row["number"]].append(read(row))
        return found

    # -- reads ----------------------------------------------------------------------------------------------------

    def runs(self, ids: Iterable[str]) -> dict[str, StoredRun]:
        found = self._rows_of_many("read/runs", [{"key": node_key("run", id_)} for id_ in ids])
        return {
            row["id"]: StoredRun(row["record"], row["version"], bool(row["removed"]), row["horizon"]) for row in found
        }

    def jobs(self, keys: Iterable[Key]) -> dict[Key, StoredJob]:
        jobs = {}
        for row in self._rows_of_many("read/jobs", [{"key": node_key("job", *key)} for key in keys]):
            key = (row["namespace"], row["name"])
            current = None if row["id"] is None else version_of(row, key)
            jobs[key] = StoredJob(row["record"], row["fold"], current, row["retainedSources"])
        return jobs

    def datasets(self, keys: Iterable[Key]) -> dict[Key, StoredDataset]:
        datasets = {}
        for row in self._rows_of_many("read/datasets", [{"key": node_key("dataset", *key)} for key in keys]):
            key = (row["namespace"], row["name"])
            retained = retained_read(row["retainedRead"])
            datasets[key] = StoredDataset(row["record"], _made(row), row["id"], bool(row["saysDrop"]), retained)
        return datasets

    def made_before(self, queries: Sequence[tuple[Key, Moment, str]]) -> list[Made | None]:
        rows = [_dataset(dataset) | moment_row(moment) | {"run": run_id} for dataset, moment, run_id in queries]
        return self._made_of("read/made_before", rows)

    def made_after(self, queries: Sequence[tuple[Key, Moment]]) -> list[Made | None]:
        return self._made_of("read/made_after", [_dataset(dataset) | moment_row(moment) for dataset, moment in queries])

    def exact_before(self, queries: Sequence[tuple[Key, str, Moment, str]]) -> list[Made | None]:
        rows = [
            _dataset(dataset) | moment_row(moment) | {"externalKey": node_key("external", external), "run": run_id}
            for dataset, external, moment, run_id in queries
        ]
        return self._made_of("read/exact_before", rows)

    def _made_of(self, name: str, rows: Sequence[Row]) -> list[Made | None]:
        return _firsts(self._listed(name, rows, _made))

    def readers_between(self, queries: Sequence[tuple[Key, Moment, Moment]], limit: int) -> list[list[StoredRead]]:
        rows = [
            _dataset(dataset) | _after(after) | {"until": until[0], "untilText": until[1]}
            for dataset, after, until in queries
        ]
        return self._listed("read/readers_between", rows, _read, limit=limit)

    def exact_readers(self, queries: Sequence[tuple[Key, str, Moment]], limit: int) -> list[list[StoredRead]]:
        rows = [
            _dataset(dataset) | _after(after) | {"externalKey": node_key("external", external), "external": external}
            for dataset, external, after in queries
        ]
        return self._listed("read/exact_readers", rows, _read, limit=limit)

    def last_exact_read(self, dataset: Key) -> StoredRead | None:
        rows = self._rows("read/last_exact_read", **_dataset(dataset), earliest=EARLIEST[0])
        return _read(rows[0]) if rows else None

    def has_inexact_read(self, dataset: Key) -> bool:
        return bool(self._rows("read/inexact_read", **_dataset(dataset), earliest=EARLIEST[0]))

    def has_live_version_after(self, dataset: Key, time: int) -> bool:
        return bool(self._rows("read/live_version_after", **_dataset(dataset), time=time))

    def items_from(self, queries: Sequence[tuple[Key, Moment]], limit: int) -> list[list[StoredItem]]:
        rows = job_rows(queries)
        runs = self._listed("read/runs_from", rows, _run_item, limit=limit)
        events = self._listed("read/job_events_from", rows, _event_item, limit=limit)
        return [
            sorted(items + more, key=lambda item: item.moment)[:limit] for items, more in zip(runs, events, strict=True)
        ]

    def items_before(self, job: Key, moment: Moment, limit: int) -> list[StoredItem]:
        rows = job_rows([(job, moment)])
        (runs,) = self._listed("read/runs_before", rows, _run_item, limit=limit)
        (events,) = self._listed("read/job_events_before", rows, _event_item, limit=limit)
        return sorted(runs + events, key=lambda item: item.moment, reverse=True)[:limit]

    def versions_before(self, queries: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        return _firsts(self._versions("read/versions_before", queries, job_rows(queries)))

    def versions_after(self, queries: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        return _firsts(self._versions("read/versions_after", queries, job_rows(queries)))

    def versions_between(self, queries: Sequence[tuple[Key, Moment, Moment]]) -> list[list[JobVersion]]:
        rows = job_rows([(job, first) for job, first, _ in queries])
        for row, (_, _, last) in zip(rows, queries, strict=True):
            row |= {"last": last[0], "lastTie": last[1][:TIE_LENGTH], "lastText": last[1]}
        return self._versions("read/versions_between", queries, rows)

    def _versions(
        self, name: str, queries: Sequence[tuple[Key, *tuple[Moment, ...]]], rows: Sequence[Row]
    ) -> list[list[JobVersion]]:
        return self._listed(name, rows, lambda row: version_of(row, queries[row["number"]][0]))

    def last_runs_before(self, queries: Sequence[tuple[Key, Moment]]) -> list[tuple[str, Moment] | None]:
        return _firsts(
            self._listed(
                "read/last_runs_before", job_rows(queries), lambda row: (row["id"], (row["moment"], row["id"]))
            )
        )

    def fields_joined(self, owners: Sequence[str]) -> set[FieldPath]:
        paths: list[Any] = list(self._rows_of_many("read/fields_joined", [{"owner": owner} for owner in owners]))
        return {(path[0], path[1], path[2]) for path in paths}

    def deferred(self, limit: int) -> list[DeferredWork]:
        return [
            DeferredWork(row["key"], row["kind"], row["body"]) for row in self._rows("read/deferred_work", limit=limit)
        ]

    # -- writes ---------------------------------------------------------------------------------------------------

    def write(self, writes: Writes) -> int:
        for name, rows in writes.items():
            if rows:
                # The next statement, at the latest the commit, waits for the outcome. Until then the next rows are prepared.
                self._run(f"write/{name}", {"rows": parameter_rows(name, rows)})
                self._affected.add(name, rows)
        return sum(map(len, writes.values()))

    def write_summaries(self) -> None:
        """Compute the summaries of all affected nodes again: once each, at the end of the transaction (see ``node_summary``)."""
        for kind in ("job", "dataset"):
            if rows := self._affected.pop_rows(kind):
                self._run(f"write/set_{kind}_summaries", {"rows": rows})

    def run_rebuild_page(self, name: str, after: str, limit: int) -> str | None:
        (row,) = self._rows(f"rebuild/{name}", after=after, limit=limit)
        return None if row["next"] is None else str(row["next"])

    def find(self, name: str, **parameters: object) -> list[Row]:
        return self._rows(name, **with_horizon(parameters))


# ---- values as rows ------------------------------------------------------------------------------------------------


def _dataset(key: Key) -> Row:
    return {"dataset": node_key("dataset", *key)}


def _after(moment: Moment) -> Row:
    return {"after": moment[0], "afterText": moment[1]}


# ---- records as values ---------------------------------------------------------------------------------------------


def _firsts(listed: Iterable[Sequence[Value]]) -> list[Value | None]:
    return [values[0] if values else None for values in listed]


def _made(row: Row) -> Made | None:
    if row["moment"] is None:
        return None
    moment = (row["moment"], row["madeBy"] or row["text"])
    return Made(row["id"], moment, row["madeBy"], row["external"], bool(row["drops"]))


def _run_item(row: Row) -> StoredItem:
    return StoredItem((row["moment"], row["id"]), row["id"], row["body"], row["version"])


def _event_item(row: Row) -> StoredItem:
    return StoredItem((row["moment"], row["id"]), None, row["id"].encode(), row["version"])


def _read(row: Row) -> StoredRead:
    return StoredRead(row["run"], (row["moment"], row["run"]), row["version"], row["external"])
