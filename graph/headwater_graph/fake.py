"""The graph in memory: stands behind the same port as Neo4j, for tests that need many graphs and no server.

Nodes and edges are rows in tables; a row is replaced, never changed, so that a copy of the tables is a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from headwater_avro.names import Key, key_hash

from .fake_checks import CHECK_SCANS
from .fake_fields import cut_columns, link_fields, put_field
from .fake_rebuild import REBUILD_SWEEPS
from .values import (
    JobVersion,
    Made,
    Moment,
    Owed,
    Row,
    Statement,
    StoredDataset,
    StoredItem,
    StoredJob,
    StoredRead,
    StoredRun,
)

Table: TypeAlias = dict[Any, Row]

_NODES = ("Job", "Dataset", "Run", "JobVersion", "DatasetVersion", "JobEvent", "Field", "Owed", "Writer")
_EDGES = ("RUN_OF", "RAN", "CHILD_OF", "ALIAS_OF", "WROTE", "READ_BY", "FEEDS", "PRODUCES", "DERIVES")


class FakeStore:
    """A graph in memory; ``tables`` holds its nodes by key and its edges by (from, to)."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {name: {} for name in (*_NODES, *_EDGES)}
        self.announced: tuple[int, str] | None = None

    @contextmanager
    def transaction(self) -> Iterator[FakeTransaction]:
        """Begin a transaction; leaving it by an exception undoes all."""
        before = {name: dict(table) for name, table in self.tables.items()}
        try:
            yield FakeTransaction(self.tables)
        except BaseException:
            self.tables = before
            raise
        writer = self.tables["Writer"]
        writer["consumer"] = {"epoch": writer.get("consumer", {}).get("epoch", 0) + 1}

    def announce(self, batch: int, offsets: str) -> None:
        """Say which batch the next transactions belong to; kept for tests to see."""
        self.announced = (batch, offsets)

    def scan(self, name: str, **parameters: object) -> Iterator[Row]:
        """Yield the rows of one of the scans of a dump or a check, as they are now: later writes don't show."""
        tables = {label: dict(table) for label, table in self.tables.items()}
        return (_SCANS | CHECK_SCANS)[name](tables, **parameters)

    def owes(self) -> bool:
        """Tell whether work is still owed: answers are final when none is."""
        return bool(self.tables["Owed"])


def _moment(row: Row) -> Moment:
    return (row["moment"], row.get("madeBy") or row.get("text") or row.get("id") or "")


def _made(row: Row) -> Made:
    return Made(row["id"], _moment(row), row["madeBy"], row["external"], bool(row["drops"]))


class FakeTransaction:
    """Reads and writes of one transaction on tables in memory; counts the stored items it hands out."""

    def __init__(self, tables: dict[str, Table]) -> None:
        self.tables = tables
        self.items_read = 0

    # -- reads ----------------------------------------------------------------------------------------------------

    def runs(self, ids: Iterable[str]) -> dict[str, StoredRun]:
        found = {id_: (key, self.tables["Run"].get(key)) for id_ in ids for key in (key_hash("run", id_),)}
        return {
            id_: StoredRun(row.get("record"), self.tables["RAN"].get(key, {}).get("version"))
            for id_, (key, row) in found.items()
            if row is not None
        }

    def jobs(self, keys: Iterable[Key]) -> dict[Key, StoredJob]:
        found = {key: self.tables["Job"].get(key_hash("job", *key)) for key in keys}
        return {
            key: StoredJob(row.get("record"), row.get("fold"), self._job_version(row.get("current")))
            for key, row in found.items()
            if row is not None
        }

    def _job_version(self, id_: str | None) -> JobVersion | None:
        row = self.tables["JobVersion"].get(id_)
        return None if row is None else self._version(row)

    def _version(self, row: Row) -> JobVersion:
        job = self.tables["Job"][row["job"]]
        inputs, outputs = msgspec.json.decode(row["lineage"], type=tuple[tuple[Key, ...], tuple[Key, ...]])
        code_since = None if row["codeMoment"] is None else (row["codeMoment"], row["codeTie"])
        key = (job["namespace"], job["name"])
        unknown = bool(row["lineageUnknown"])
        return JobVersion(
            row["id"], key, _moment(row), row["madeBy"], inputs, outputs, unknown, row["codeVersion"], code_since
        )

    def datasets(self, keys: Iterable[Key]) -> dict[Key, StoredDataset]:
        found = {key: self.tables["Dataset"].get(key_hash("dataset", *key)) for key in keys}
        return {
            key: StoredDataset(row.get("record"), self._latest(key), row.get("current"), bool(row.get("saysDrop")))
            for key, row in found.items()
            if row is not None
        }

    def _latest(self, dataset: Key) -> Made | None:
        return max(self._all_made(dataset), key=lambda made: made.moment, default=None)

    def _all_made(self, dataset: Key) -> list[Made]:
        hash_ = key_hash("dataset", *dataset)
        rows = self.tables["DatasetVersion"].values()
        return [_made(row) for row in rows if row["dataset"] == hash_ and row.get("moment") is not None]

    def made_before(self, asked: Sequence[tuple[Key, Moment, str]]) -> list[Made | None]:
        return [
            max(
                (made for made in self._all_made(dataset) if made.moment < moment and made.made_by != run_id),
                key=lambda made: made.moment,
                default=None,
            )
            for dataset, moment, run_id in asked
        ]

    def made_after(self, asked: Sequence[tuple[Key, Moment]]) -> list[Made | None]:
        return [
            min(
                (made for made in self._all_made(dataset) if made.moment > moment),
                key=lambda made: made.moment,
                default=None,
            )
            for dataset, moment in asked
        ]

    def exact_before(self, asked: Sequence[tuple[Key, str, Moment, str]]) -> list[Made | None]:
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
            for dataset, external, moment, run_id in asked
        ]

    def _reads(self, dataset: Key) -> list[StoredRead]:
        hash_ = key_hash("dataset", *dataset)
        rows = [(run, row) for (run, of), row in self.tables["READ_BY"].items() if of == hash_]
        reads = []
        for run, row in rows:
            id_ = self.tables["Run"][run]["id"]
            reads.append(StoredRead(id_, (row["moment"], id_), row["version"], row["external"]))
        return sorted(reads, key=lambda read: read.moment)

    def readers_between(self, asked: Sequence[tuple[Key, Moment, Moment]], limit: int) -> list[list[StoredRead]]:
        return [
            [read for read in self._reads(dataset) if read.external is None and after < read.moment <= until][:limit]
            for dataset, after, until in asked
        ]

    def exact_readers(self, asked: Sequence[tuple[Key, str, Moment]], limit: int) -> list[list[StoredRead]]:
        return [
            [read for read in self._reads(dataset) if read.external == external and read.moment > after][:limit]
            for dataset, external, after in asked
        ]

    def last_exact_read(self, dataset: Key) -> StoredRead | None:
        exact = [read for read in self._reads(dataset) if read.external is not None]
        return exact[-1] if exact else None

    def inexact_read(self, dataset: Key) -> bool:
        return any(read.external is None for read in self._reads(dataset))

    def kept_after(self, dataset: Key, time: int) -> bool:
        return any(made.moment[0] > time and not made.drops for made in self._all_made(dataset))

    def _items(self, job: Key) -> list[StoredItem]:
        hash_ = key_hash("job", *job)
        items = [
            StoredItem(_moment(row), row["id"], row["record"], self.tables["RAN"].get(key, {}).get("version"))
            for key, row in self.tables["Run"].items()
            if row.get("job") == hash_ and row.get("moment") is not None
        ]
        items += [
            StoredItem(_moment(row), None, row["text"].encode(), row.get("version"))
            for row in self.tables["JobEvent"].values()
            if row["job"] == hash_ and row.get("moment") is not None
        ]
        return sorted(items, key=lambda item: item.moment)

    def items_from(self, asked: Sequence[tuple[Key, Moment]], limit: int) -> list[list[StoredItem]]:
        found = [[item for item in self._items(job) if item.moment >= moment][:limit] for job, moment in asked]
        self.items_read += sum(map(len, found))
        return found

    def items_before(self, job: Key, moment: Moment, limit: int) -> list[StoredItem]:
        items = [item for item in reversed(self._items(job)) if item.moment < moment][:limit]
        self.items_read += len(items)
        return items

    def _versions(self, job: Key) -> list[JobVersion]:
        hash_ = key_hash("job", *job)
        rows = self.tables["JobVersion"].values()
        versions = [self._version(row) for row in rows if row["job"] == hash_ and row.get("moment") is not None]
        return sorted(versions, key=lambda version: version.since)

    def versions_before(self, asked: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        return [
            next((one for one in reversed(self._versions(job)) if one.since < moment), None) for job, moment in asked
        ]

    def versions_between(self, asked: Sequence[tuple[Key, Moment, Moment]]) -> list[list[JobVersion]]:
        return [[one for one in self._versions(job) if first <= one.since <= last] for job, first, last in asked]

    def versions_after(self, asked: Sequence[tuple[Key, Moment]]) -> list[JobVersion | None]:
        return [next((one for one in self._versions(job) if one.since > moment), None) for job, moment in asked]

    def last_runs_before(self, asked: Sequence[tuple[Key, Moment]]) -> list[tuple[str, Moment] | None]:
        return [self._last_run_before(job, moment) for job, moment in asked]

    def _last_run_before(self, job: Key, moment: Moment) -> tuple[str, Moment] | None:
        runs = [item for item in self._items(job) if item.run_id is not None and item.moment < moment]
        return (runs[-1].run_id or "", runs[-1].moment) if runs else None

    def owed(self, limit: int) -> list[Owed]:
        found = [Owed(key, row["kind"], row["body"]) for key, row in self.tables["Owed"].items()]
        return sorted(found, key=lambda owed: (owed.key != "!", owed.kind, owed.key))[:limit]

    # -- writes ---------------------------------------------------------------------------------------------------

    def write(self, statements: Iterable[Statement]) -> int:
        rows = 0
        for statement in statements:
            apply = _WRITES[statement.name]
            for row in statement.rows:
                apply(self.tables, row)
            rows += len(statement.rows)
        return rows

    def sweep(self, name: str, after: str, limit: int) -> str | None:
        return REBUILD_SWEEPS[name](self.tables, after, limit)


# ---- what each statement does to the tables, as its Cypher file does to Neo4j ---------------------------------------

Tables: TypeAlias = dict[str, Table]


def _merge(label: str, *names: str, id_: str = "key") -> Callable[[Tables, Row], None]:
    """A write that merges a node and sets the named properties, or all of the row's."""

    def apply(tables: Tables, row: Row) -> None:
        known = tables[label].get(row[id_], {})
        tables[label][row[id_]] = known | ({name: row[name] for name in names} if names else row)

    return apply


def _set(label: str, of: str, **names: str) -> Callable[[Tables, Row], None]:
    """A write that sets properties (name=row member) of a node that is there."""

    def apply(tables: Tables, row: Row) -> None:
        if row[of] in tables[label]:
            tables[label][row[of]] = tables[label][row[of]] | {name: row[member] for name, member in names.items()}

    return apply


def _link(type_: str, from_: str, to: str) -> Callable[[Tables, Row], None]:
    def apply(tables: Tables, row: Row) -> None:
        tables[type_][(row[from_], row[to])] = row

    return apply


def _unlink(type_: str, from_: str, to: str) -> Callable[[Tables, Row], None]:
    def apply(tables: Tables, row: Row) -> None:
        tables[type_].pop((row[from_], row[to]), None)

    return apply


def _named(label: str) -> Callable[[Tables, Row], None]:
    def apply(tables: Tables, row: Row) -> None:
        tables[label].setdefault(row["key"], row)

    return apply


def _drop_unnamed(label: str, type_: str) -> Callable[[Tables, Row], None]:
    def apply(tables: Tables, row: Row) -> None:
        node = tables[label].get(row["key"])
        if node is not None and node.get("record") is None and not any(to == row["key"] for _, to in tables[type_]):
            del tables[label][row["key"]]

    return apply


def _create_dataset_version(tables: Tables, row: Row) -> None:
    assert row["id"] not in tables["DatasetVersion"], "a version created twice"
    _put_dataset_version(tables, row)


def _put_dataset_version(tables: Tables, row: Row) -> None:
    tables["DatasetVersion"][row["id"]] = row
    if row["run"] is not None:
        tables["WROTE"][(row["run"], row["id"])] = row


def _unmake_dataset_version(tables: Tables, row: Row) -> None:
    version = tables["DatasetVersion"][row["id"]]
    tables["WROTE"].pop((version["run"], row["id"]), None)
    gone = {"moment": None, "madeBy": None, "external": None, "run": None}
    tables["DatasetVersion"][row["id"]] = version | gone


def _put_unmade_version(tables: Tables, row: Row) -> None:
    blank = dict.fromkeys(("moment", "madeBy", "text", "run", "state", "schema", "drops"))
    tables["DatasetVersion"].setdefault(row["id"], blank | row)


def _drop_unread_version(tables: Tables, row: Row) -> None:
    version = tables["DatasetVersion"].get(row["id"])
    read = any(edge["version"] == row["id"] for edge in tables["READ_BY"].values())
    if version is not None and version["moment"] is None and not read:
        del tables["DatasetVersion"][row["id"]]


def _put_read(tables: Tables, row: Row) -> None:
    assert row["version"] in tables["DatasetVersion"], "a read of a version that is not there"
    tables["READ_BY"][(row["run"], row["dataset"])] = row


def _put_ran(tables: Tables, row: Row) -> None:
    assert row["version"] in tables["JobVersion"], "a run placed in a version that is not there"
    tables["RAN"][row["run"]] = row


def _cut_ran(tables: Tables, row: Row) -> None:
    tables["RAN"].pop(row["run"], None)


def _drop_job_version(tables: Tables, row: Row) -> None:
    tables["JobVersion"].pop(row["id"], None)
    assert not any(edge["version"] == row["id"] for edge in tables["RAN"].values()), "a version dropped under its runs"


def _count_runs(tables: Tables, row: Row) -> None:
    version = tables["JobVersion"].get(row["id"])
    if version is not None:
        tables["JobVersion"][row["id"]] = version | {"runs": version.get("runs", 0) + row["runs"]}


def _add_runs(tables: Tables, row: Row) -> None:
    _count_runs(tables, row)
    _set("JobVersion", "id", lastRun="lastRun", lastRunAt="lastRunAt")(tables, row)


def _cut_current_edges(tables: Tables, row: Row) -> None:
    for type_ in ("FEEDS", "PRODUCES"):
        for key in [key for key in tables[type_] if key[0] == row["job"]]:
            del tables[type_][key]


def _put_column(tables: Tables, row: Row) -> None:
    tables["DERIVES"][tuple(str(value) for value in row.values())] = row


def _cut_owed(tables: Tables, row: Row) -> None:
    tables["Owed"].pop(row["key"], None)


def _put_child(tables: Tables, row: Row) -> None:
    tables["CHILD_OF"][(row.get("run") or row["key"], row["parent"])] = row


def _cut_child(tables: Tables, row: Row) -> None:
    tables["CHILD_OF"].pop((row.get("run") or row["key"], row["parent"]), None)


_WRITES: dict[str, Callable[[Tables, Row], None]] = {
    "put_jobs": _merge("Job"),
    "put_named_jobs": _named("Job"),
    "drop_unnamed_jobs": _drop_unnamed("Job", "CHILD_OF"),
    "put_job_parents": _put_child,
    "cut_job_parents": _cut_child,
    "put_datasets": _merge("Dataset"),
    "put_named_datasets": _named("Dataset"),
    "drop_unnamed_datasets": _drop_unnamed("Dataset", "ALIAS_OF"),
    "put_aliases": _link("ALIAS_OF", "key", "alias"),
    "cut_aliases": _unlink("ALIAS_OF", "key", "alias"),
    "put_runs": _merge("Run"),
    "put_named_runs": _named("Run"),
    "drop_unnamed_runs": _drop_unnamed("Run", "CHILD_OF"),
    "put_run_job": lambda tables, row: tables["RUN_OF"].__setitem__(row["run"], row),
    "cut_run_job": lambda tables, row: tables["RUN_OF"].__delitem__(row["run"]),
    "put_run_parents": _put_child,
    "put_run_parent_jobs": _put_child,
    "cut_run_parents": _cut_child,
    "put_dataset_versions": _put_dataset_version,
    "create_dataset_versions": _create_dataset_version,
    "unmake_dataset_versions": _unmake_dataset_version,
    "put_unmade_versions": _put_unmade_version,
    "drop_unread_versions": _drop_unread_version,
    "put_reads": _put_read,
    "cut_reads": _unlink("READ_BY", "run", "dataset"),
    "put_current_dataset_versions": _set("Dataset", "dataset", current="version"),
    "put_dropped": _set("Dataset", "dataset", dropped="dropped"),
    "put_job_events": _merge("JobEvent"),
    "place_job_events": _set("JobEvent", "key", version="version"),
    "put_job_versions": _merge("JobVersion", id_="id"),
    "doom_job_versions": lambda tables, row: _merge("JobVersion", id_="id")(tables, row | {"moment": None}),
    "drop_job_versions": _drop_job_version,
    "end_job_versions": _set("JobVersion", "id", end="end"),
    "put_last_runs": _set("JobVersion", "id", lastRun="lastRun", lastRunAt="lastRunAt"),
    "count_runs": _count_runs,
    "add_runs": _add_runs,
    "put_ran": _put_ran,
    "cut_ran": _cut_ran,
    "put_current_job_versions": _set("Job", "job", current="version"),
    "cut_current_edges": _cut_current_edges,
    "put_feeds": _link("FEEDS", "job", "dataset"),
    "put_produces": _link("PRODUCES", "job", "dataset"),
    "cut_columns": cut_columns,
    "cut_some_columns": cut_columns,
    "put_columns": _put_column,
    "put_fields": put_field,
    "link_fields": link_fields,
    "put_fold_states": _set("Job", "job", fold="fold"),
    "put_owed": _merge("Owed"),
    "cut_owed": _cut_owed,
}


# ---- scans for the dump --------------------------------------------------------------------------------------------


def _key(row: Row) -> Key:
    return (row["namespace"], row["name"])


def _scan_jobs(tables: Tables) -> Iterator[Row]:
    for row in tables["Job"].values():
        yield {"key": _key(row), "record": row.get("record"), "current": row.get("current")}


def _scan_job_versions(tables: Tables) -> Iterator[Row]:
    rows = [row for row in tables["JobVersion"].values() if row["moment"] is not None]
    for row in sorted(rows, key=lambda row: (row["job"], _moment(row))):
        yield row | {"job": _key(tables["Job"][row["job"]]), "runs": row.get("runs", 0), "end": row.get("end")}


def _scan_runs(tables: Tables) -> Iterator[Row]:
    reads: dict[str, list[Any]] = {}
    for (run, dataset), row in tables["READ_BY"].items():
        reads.setdefault(run, []).append([*_key(tables["Dataset"][dataset]), row["version"]])
    writes: dict[str, list[Any]] = {}
    for (run, id_), row in tables["WROTE"].items():
        writes.setdefault(run, []).append([*_key(tables["Dataset"][row["dataset"]]), id_])
    for key, row in tables["Run"].items():
        version = tables["RAN"].get(key, {}).get("version")
        edges = {"reads": reads.get(key, []), "writes": writes.get(key, [])}
        yield {"id": row["id"], "record": row.get("record"), "version": version} | edges


def _scan_datasets(tables: Tables) -> Iterator[Row]:
    aliases: dict[str, list[Key]] = {}
    for one, other in tables["ALIAS_OF"]:
        aliases.setdefault(one, []).append(_key(tables["Dataset"][other]))
        aliases.setdefault(other, []).append(_key(tables["Dataset"][one]))
    for hash_, row in tables["Dataset"].items():
        told = {name: row.get(name) for name in ("record", "current", "dropped")}
        yield told | {"key": _key(row), "aliases": aliases.get(hash_, [])}


def _scan_dataset_versions(tables: Tables) -> Iterator[Row]:
    for row in tables["DatasetVersion"].values():
        yield row | {"dataset": _key(tables["Dataset"][row["dataset"]])}


def _scan_edges(tables: Tables) -> Iterator[Row]:
    for type_ in ("FEEDS", "PRODUCES"):
        for row in tables[type_].values():
            version = tables["JobVersion"].get(row["version"], {})
            keys = {"job": _key(tables["Job"][row["job"]]), "dataset": _key(tables["Dataset"][row["dataset"]])}
            counted = {"runs": version.get("runs", 0), "lastRun": version.get("lastRun")}
            yield row | keys | counted | {"type": type_}


_SCANS: dict[str, Callable[..., Iterator[Row]]] = {
    "scan_jobs": _scan_jobs,
    "scan_job_versions": _scan_job_versions,
    "scan_runs": _scan_runs,
    "scan_datasets": _scan_datasets,
    "scan_dataset_versions": _scan_dataset_versions,
    "scan_edges": _scan_edges,
    "scan_columns": lambda tables: iter(tables["DERIVES"].values()),
}
