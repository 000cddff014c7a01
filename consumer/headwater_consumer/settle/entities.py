"""Runs, jobs and datasets: told records joined with stored ones, and the nodes and names that follow (SPEC 1.7, 2, 6.7, 6.8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headwater_avro.canonical import canonical, canonical_text
from headwater_avro.names import Key, key_hash
from headwater_consumer.rules import facets as read
from headwater_consumer.rules.horizon import Beyond, judge_run
from headwater_consumer.rules.join import (
    absorb_dataset,
    absorb_job,
    absorb_run,
    dataset_of,
    datasets_in,
    job_of,
    jobs_in,
    sides_of,
)
from headwater_consumer.rules.runs import Run, read_run
from headwater_graph.port import Transaction
from headwater_graph.records import DatasetRecord, Facets, JobRecord, RunRecord, pack, unpack
from headwater_graph.values import Row, Statement, StoredDataset, StoredJob

from .told import Told


@dataclass(frozen=True, slots=True)
class Change:
    """A run that this batch tells something new of: as it was (None if unheard of), as it is, its record, its version."""

    old: Run | None
    new: Run
    record: RunRecord
    version: str | None


@dataclass(slots=True)
class Entities:
    """The runs that changed, and the jobs and datasets that the batch names, as stored before and as joined."""

    changes: dict[str, Change] = field(default_factory=dict)
    stored_jobs: dict[Key, StoredJob] = field(default_factory=dict)
    jobs: dict[Key, JobRecord] = field(default_factory=dict)
    stored_datasets: dict[Key, StoredDataset] = field(default_factory=dict)
    datasets: dict[Key, DatasetRecord] = field(default_factory=dict)
    drop_told: set[Key] = field(default_factory=set)
    beyond: list[Beyond] = field(default_factory=list)


def job_hash(key: Key) -> str:
    """Return the store's key of a job."""
    return key_hash("job", *key)


def dataset_hash(key: Key) -> str:
    """Return the store's key of a dataset."""
    return key_hash("dataset", *key)


def run_hash(run_id: str) -> str:
    """Return the store's key of a run."""
    return key_hash("run", run_id)


def settle_entities(tx: Transaction, told: Told) -> Entities:
    """Join what is told with what is stored and write the nodes; duplicates of what is known write nothing."""
    entities = Entities()
    news = _join_runs(tx, told, entities)
    jobs, datasets = _told_of(told, news)
    statements = [
        *_join_jobs(tx, jobs, entities),
        *_join_datasets(tx, datasets, entities),
        *_run_statements(entities.changes.values()),
        _put("put_run_horizons", _horizon_rows(tx, entities)),
    ]
    tx.write(statement for statement in statements if statement.rows)
    return entities


def _horizon_rows(tx: Transaction, entities: Entities) -> list[Row]:
    """A run remembers behind which horizon it was first heard of (SPEC 7)."""
    if tx.horizon is None:
        return []
    new = (change.new.id for change in entities.changes.values() if change.old is None)
    return [{"key": run_hash(id_), "horizon": tx.horizon} for id_ in new]


def put_names(tx: Transaction, jobs: dict[Key, JobRecord], datasets: dict[Key, DatasetRecord]) -> None:
    """Write jobs and datasets with all that follows from their records; nothing of them but the records is there yet."""
    entities = Entities()
    statements = [*_join_jobs(tx, jobs, entities), *_join_datasets(tx, datasets, entities)]
    drops = [{"dataset": dataset_hash(key), "dropped": True} for key in sorted(entities.drop_told)]
    tx.write((*(statement for statement in statements if statement.rows), _put("put_dropped", drops)))


def _join_runs(tx: Transaction, told: Told, entities: Entities) -> list[RunRecord]:
    """Fill in the changes; return the told records that brought something new."""
    stored = tx.runs(told.runs)
    news = []
    for run_id, record in told.runs.items():
        known = stored.get(run_id)
        beyond = judge_run(run_id, record, known, tx.horizon)
        if beyond is not None:
            entities.beyond.append(beyond)
            continue
        if known is None or known.record is None:
            entities.changes[run_id] = Change(None, read_run(run_id, record), record, None)
            news.append(record)
            continue
        before = unpack(known.record, RunRecord)
        joined = unpack(known.record, RunRecord)
        absorb_run(joined, record)
        if joined != before:
            entities.changes[run_id] = Change(read_run(run_id, before), read_run(run_id, joined), joined, known.version)
            news.append(record)
    return news


def _told_of(told: Told, news: Iterable[RunRecord]) -> tuple[dict[Key, JobRecord], dict[Key, DatasetRecord]]:
    """Return what the batch tells of jobs and datasets."""
    jobs: dict[Key, JobRecord] = {}
    datasets: dict[Key, DatasetRecord] = {}
    for record in news:
        for key, job in jobs_in(record).items():
            absorb_job(jobs.setdefault(key, JobRecord()), job)
        _absorb_all(datasets, datasets_in(record.inputs, record.outputs))
    for event in told.job_events.values():
        absorb_job(jobs.setdefault(event.job, JobRecord()), job_of(event))
        _absorb_all(datasets, datasets_in(*sides_of(event)))
    for event_ in told.dataset_events.values():
        _absorb_all(datasets, {event_.dataset: dataset_of(event_)})
    return jobs, datasets


def _absorb_all(datasets: dict[Key, DatasetRecord], more: dict[Key, DatasetRecord]) -> None:
    for key, dataset in more.items():
        absorb_dataset(datasets.setdefault(key, DatasetRecord()), dataset)


# ---- jobs ----------------------------------------------------------------------------------------------------------


def _join_jobs(tx: Transaction, told: dict[Key, JobRecord], entities: Entities) -> list[Statement]:
    entities.stored_jobs = tx.jobs(told)
    rows: list[Row] = []
    cut: list[Row] = []
    children: list[Row] = []
    parents: list[Key] = []
    for key, record in told.items():
        stored = entities.stored_jobs.get(key)
        before = unpack(stored.record, JobRecord) if stored and stored.record else None
        if before is not None:
            joined = JobRecord(dict(before.facets), before.parent)
            absorb_job(joined, record)
            record = joined
        entities.jobs[key] = record
        if record == before:
            continue
        rows.append(_named_row(job_hash(key), key, pack(record), record.facets, before.facets if before else None))
        old, new = _job_parent(before), _job_parent(record)
        if old != new:
            cut.extend([{"key": job_hash(key), "parent": job_hash(old)}] if old else [])
            children.extend([{"key": job_hash(key), "parent": job_hash(new)}] if new else [])
            parents.extend([new] if new else [])
    return [
        _put("put_jobs", rows),
        *_placeholders("put_named_jobs", parents, job_hash),
        _put("cut_job_parents", cut),
        _put("put_job_parents", children),
        _put("drop_unnamed_jobs", [{"key": row["parent"]} for row in cut]),
    ]


def _job_parent(record: JobRecord | None) -> Key | None:
    return None if record is None or record.parent is None else read.key_from(record.parent[2])


def _named_row(hash_: str, key: Key, record: bytes, facets: Facets, before: Facets | None) -> Row:
    row: Row = {"key": hash_, "namespace": key[0], "name": key[1], "record": record}
    if before is None or _texts(before) != _texts(facets):
        row["facets"] = facets_text(facets)
    return row


def _texts(facets: Facets) -> dict[str, bytes]:
    return {name: instance[2] for name, instance in facets.items()}


def facets_text(facets: Facets) -> str:
    """Return a job's or dataset's facets as one canonical JSON object, the deleted ones left out (SPEC 2.4)."""
    living = sorted(read.without_deleted(facets).items())
    return "{" + ",".join(f"{canonical(name)}:{canonical_text(instance[2])}" for name, instance in living) + "}"


# ---- datasets ------------------------------------------------------------------------------------------------------


def _join_datasets(tx: Transaction, told: dict[Key, DatasetRecord], entities: Entities) -> list[Statement]:
    entities.stored_datasets = tx.datasets(told)
    rows: list[Row] = []
    cut: list[Row] = []
    aliases: list[Row] = []
    named: list[Key] = []
    new: list[Row] = []
    for key, record in told.items():
        stored = entities.stored_datasets.get(key)
        before = unpack(stored.record, DatasetRecord) if stored and stored.record else None
        if before is not None:
            joined = DatasetRecord(dict(before.facets))
            absorb_dataset(joined, record)
            record = joined
        entities.datasets[key] = record
        if record == before:
            continue
        row = _named_row(dataset_hash(key), key, pack(record), record.facets, before.facets if before else None)
        row["saysDrop"] = read.says_drop(record.facets) or None
        rows.append(row)
        if stored is None:
            new.append({"key": row["key"]})
        if row["saysDrop"] or (stored is not None and stored.says_drop):
            entities.drop_told.add(key)
        old, now = _aliases(before, key), _aliases(record, key)
        cut += [{"key": dataset_hash(key), "alias": dataset_hash(alias)} for alias in old if alias not in now]
        aliases += [{"key": dataset_hash(key), "alias": dataset_hash(alias)} for alias in now if alias not in old]
        named += [alias for alias in now if alias not in old]
    return [
        _put("put_datasets", rows),
        *_placeholders("put_named_datasets", named, dataset_hash),
        _put("link_fields", [*new, *({"key": dataset_hash(alias)} for alias in dict.fromkeys(named))]),
        _put("cut_aliases", cut),
        _put("put_aliases", aliases),
        _put("drop_unnamed_datasets", [{"key": row["alias"]} for row in cut]),
    ]


def _aliases(record: DatasetRecord | None, own: Key) -> tuple[Key, ...]:
    """The other names of a dataset; its own key among them ties nothing (SPEC 6.7, 9)."""
    if record is None:
        return ()
    return tuple(key for key in read.aliases_of(read.living(record.facets, "symlinks")) if key != own)


# ---- runs ----------------------------------------------------------------------------------------------------------


def _run_statements(changes: Iterable[Change]) -> list[Statement]:
    rows, moved, owners = [], [], []
    cut: list[Row] = []
    parents: list[Row] = []
    parent_jobs: list[Row] = []
    named_runs: list[Row] = []
    named_jobs: list[Key] = []
    for change in changes:
        old, new = change.old, change.new
        rows.append(run_row(new, change.record))
        if old is None or old.job != new.job:
            moved.extend([{"run": run_hash(new.id)}] if old else [])
            owners.append({"run": run_hash(new.id), "job": job_hash(new.job)})
        before = old.parent if old else read.Parent()
        if before == new.parent:
            continue
        cut.extend(_parent_cuts(new.id, before))
        if new.parent.run_id is not None:
            named_runs.append({"key": run_hash(new.parent.run_id), "id": new.parent.run_id})
            parents.append({"run": run_hash(new.id), "parent": run_hash(new.parent.run_id)})
        if new.parent.job is not None:
            named_jobs.append(new.parent.job)
            parent_jobs.append({"run": run_hash(new.id), "parent": job_hash(new.parent.job)})
    return [
        _put("put_runs", rows),
        _put("cut_run_job", moved),
        _put("put_run_job", owners),
        _put("put_named_runs", list({row["key"]: row for row in named_runs}.values())),
        *_placeholders("put_named_jobs", named_jobs, job_hash),
        _put("cut_run_parents", cut),
        _put("put_run_parents", parents),
        _put("put_run_parent_jobs", parent_jobs),
        _put("drop_unnamed_runs", [{"key": row["parent"]} for row in cut]),
        _put("drop_unnamed_jobs", [{"key": row["parent"]} for row in cut]),
    ]


def _parent_cuts(run_id: str, parent: read.Parent) -> list[Row]:
    hashes = [run_hash(parent.run_id)] if parent.run_id is not None else []
    hashes += [job_hash(parent.job)] if parent.job is not None else []
    return [{"run": run_hash(run_id), "parent": hash_} for hash_ in hashes]


def run_row(run: Run, record: RunRecord) -> Row:
    """Return a run's node: its record, and of what it says the parts that are asked for most."""
    return {
        "key": run_hash(run.id),
        "id": run.id,
        "job": job_hash(run.job),
        "record": pack(record),
        "state": run.state,
        "started": run.started,
        "ended": run.ended,
        "last": run.last,
        "moment": run.moment[0] if run.moment else None,
        "tie": run.moment[1] if run.moment else None,
        "streaming": run.streaming or None,
        "lineageUnknown": None if run.known else True,
        "codeVersion": run.code,
        "conflicts": canonical([list(key) for key in run.conflicts]) if run.conflicts else None,
        "error": _error(record),
    }


def _error(record: RunRecord) -> str | None:
    instance = record.facets.get("errorMessage")
    return read.text_member(read.members(instance[2]), "message") if instance else None


def _placeholders(name: str, keys: Iterable[Key], hash_of: object) -> list[Statement]:
    assert callable(hash_of)
    rows = [{"key": hash_of(key), "namespace": key[0], "name": key[1]} for key in dict.fromkeys(keys)]
    return [_put(name, rows)]


def _put(name: str, rows: Iterable[Row]) -> Statement:
    return Statement(name, tuple(rows))
