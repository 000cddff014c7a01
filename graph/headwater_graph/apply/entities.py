"""Runs, jobs and datasets: told records joined with stored ones, and the nodes and names that follow (specification 1.7, 2, 6.7, 6.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from headwater_avro.canonical import canonical, canonical_text
from headwater_avro.names import Key
from headwater_graph.apply.merged import Told
from headwater_graph.apply.run_changes import NamedEntities, RunChange, change_to
from headwater_graph.model.facet_properties import dataset_properties_of, job_properties_of
from headwater_graph.model.node_keys import dataset_hash, job_hash, run_hash
from headwater_graph.model.records import DatasetRecord, Facets, JobRecord, RunRecord, pack, unpack
from headwater_graph.model.values import Row, Statement, StoredDataset, StoredJob
from headwater_graph.rules import facets as read
from headwater_graph.rules.horizon import Beyond, judge_run
from headwater_graph.rules.merge import absorb_dataset, absorb_job, absorb_run
from headwater_graph.rules.runs import read_run
from headwater_graph.store.port import Transaction

JobOrDataset: TypeAlias = JobRecord | DatasetRecord


@dataclass(slots=True)
class Entities:
    """The runs that changed, and the jobs and datasets that the batch names, as stored before and as joined.

    ``unheard`` are those of the runs that have no node yet, not even as another's parent.
    """

    changes: dict[str, RunChange] = field(default_factory=dict)
    unheard: set[str] = field(default_factory=set)
    stored_jobs: dict[Key, StoredJob] = field(default_factory=dict)
    jobs: dict[Key, JobRecord] = field(default_factory=dict)
    stored_datasets: dict[Key, StoredDataset] = field(default_factory=dict)
    datasets: dict[Key, DatasetRecord] = field(default_factory=dict)
    drop_reported: set[Key] = field(default_factory=set)
    beyond: list[Beyond] = field(default_factory=list)


def apply_entities(tx: Transaction, told: Told) -> Entities:
    """Join what is told with what is stored and write the nodes; duplicates of what is known write nothing."""
    entities = Entities()
    _merge_runs(tx, told, entities)
    # What the runs tell that are known already is stored, and told again changes nothing.
    named = told.named_without({one.key for one in entities.beyond}) if entities.beyond else told.named
    _load_named(tx, named, entities)
    # These need nothing more: the server writes them while what is told of jobs and datasets is joined here.
    tx.write(_new_run_statements(entities))
    tx.write(
        (
            *_merge_jobs(named.jobs, entities),
            *_merge_datasets(named.datasets, entities),
            *_known_run_statements(entities),
            *_run_parent_statements(entities.changes.values()),
            _statement("set_run_horizons", _horizon_rows(tx, entities)),
        )
    )
    return entities


def _load_named(tx: Transaction, named: NamedEntities, entities: Entities) -> None:
    entities.stored_jobs = tx.jobs(named.jobs)
    entities.stored_datasets = tx.datasets(named.datasets)


def _horizon_rows(tx: Transaction, entities: Entities) -> list[Row]:
    """A run remembers behind which horizon it was first heard of (specification 7)."""
    if tx.horizon is None:
        return []
    new = (change.new.id for change in entities.changes.values() if change.old is None)
    return [{"key": run_hash(id_), "horizon": tx.horizon} for id_ in new]


def write_names(tx: Transaction, jobs: dict[Key, JobRecord], datasets: dict[Key, DatasetRecord]) -> None:
    """Write jobs and datasets with all that follows from their records; nothing of them but the records is there yet."""
    entities = Entities()
    _load_named(tx, NamedEntities(jobs, datasets), entities)
    statements = [*_merge_jobs(jobs, entities), *_merge_datasets(datasets, entities)]
    drops = [{"dataset": dataset_hash(key), "dropped": True} for key in sorted(entities.drop_reported)]
    tx.write((*statements, _statement("set_dropped", drops)))


def _merge_runs(tx: Transaction, told: Told, entities: Entities) -> None:
    """Fill in the changes, and the runs that lie beyond the horizon."""
    stored = tx.runs(told.runs)
    for run_id, record in told.runs.items():
        known = stored.get(run_id)
        beyond = judge_run(run_id, record, known, tx.horizon)
        if beyond is not None:
            entities.beyond.append(beyond)
            continue
        if known is None or known.record is None:
            entities.changes[run_id] = told.changes[run_id]
            if known is None:
                entities.unheard.add(run_id)
            continue
        before = unpack(known.record, RunRecord)
        joined = unpack(known.record, RunRecord)
        absorb_run(joined, record)
        if joined != before:
            entities.changes[run_id] = change_to(run_id, joined, read_run(run_id, before), known.version)


# ---- jobs ----------------------------------------------------------------------------------------------------------


def _merge_jobs(told: dict[Key, JobRecord], entities: Entities) -> list[Statement]:
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
        rows.append(_named_row(job_hash(key), key, record, before, job_properties_of))
        old, new = _job_parent(before), _job_parent(record)
        if old != new:
            cut.extend([{"key": job_hash(key), "parent": job_hash(old)}] if old else [])
            children.extend([{"key": job_hash(key), "parent": job_hash(new)}] if new else [])
            parents.extend([new] if new else [])
    return [
        _statement("upsert_jobs", rows),
        *_placeholders("upsert_named_jobs", parents, job_hash),
        _statement("unlink_job_parents", cut),
        _statement("link_job_parents", children),
        _statement("delete_unnamed_jobs", [{"key": row["parent"]} for row in cut]),
    ]


def _job_parent(record: JobRecord | None) -> Key | None:
    return None if record is None or record.parent is None else read.key_from(record.parent[2])


def _named_row(
    hash_: str, key: Key, record: JobOrDataset, before: JobOrDataset | None, properties_of: Callable[[str], Row]
) -> Row:
    """Return the row of a job or dataset; the facets, and the properties that follow from them, only where they changed."""
    row: Row = {"key": hash_, "namespace": key[0], "name": key[1], "record": pack(record)}
    if before is None or _texts(before.facets) != _texts(record.facets):
        text = facets_text(record.facets)
        row["properties"] = {"facets": text, **properties_of(text)}
    return row


def _texts(facets: Facets) -> dict[str, bytes]:
    return {name: instance[2] for name, instance in facets.items()}


def facets_text(facets: Facets) -> str:
    """Return a job's or dataset's facets as one canonical JSON object, the deleted ones left out (specification 2.4)."""
    living = sorted(read.without_deleted(facets).items())
    return "{" + ",".join(f"{canonical(name)}:{canonical_text(instance[2])}" for name, instance in living) + "}"


# ---- datasets ------------------------------------------------------------------------------------------------------


def _merge_datasets(told: dict[Key, DatasetRecord], entities: Entities) -> list[Statement]:
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
        row = _named_row(dataset_hash(key), key, record, before, dataset_properties_of)
        row["saysDrop"] = read.says_drop(record.facets) or None
        rows.append(row)
        if stored is None:
            new.append({"key": row["key"]})
        if row["saysDrop"] or (stored is not None and stored.says_drop):
            entities.drop_reported.add(key)
        old, now = _aliases(before, key), _aliases(record, key)
        cut += [{"key": dataset_hash(key), "alias": dataset_hash(alias)} for alias in old if alias not in now]
        aliases += [{"key": dataset_hash(key), "alias": dataset_hash(alias)} for alias in now if alias not in old]
        named += [alias for alias in now if alias not in old]
    return [
        _statement("upsert_datasets", rows),
        *_placeholders("upsert_named_datasets", named, dataset_hash),
        _statement("link_fields", [*new, *({"key": dataset_hash(alias)} for alias in dict.fromkeys(named))]),
        _statement("unlink_aliases", cut),
        _statement("link_aliases", aliases),
        _statement("delete_unnamed_datasets", [{"key": row["alias"]} for row in cut]),
    ]


def _aliases(record: DatasetRecord | None, own: Key) -> tuple[Key, ...]:
    """The other names of a dataset; its own key among them ties nothing (specification 6.7, 9)."""
    if record is None:
        return ()
    return tuple(key for key in read.aliases_of(read.living(record.facets, "symlinks")) if key != own)


# ---- runs ----------------------------------------------------------------------------------------------------------


def _new_run_statements(entities: Entities) -> list[Statement]:
    """Return the writes of runs without a node, and of jobs without one that they are of."""
    new = [change for id_, change in entities.changes.items() if id_ in entities.unheard]
    jobs = (change.new.job for change in new if change.new.job not in entities.stored_jobs)
    return [
        *_placeholders("upsert_named_jobs", jobs, job_hash),
        _statement("create_runs", [change.row for change in new]),
    ]


def _known_run_statements(entities: Entities) -> list[Statement]:
    """Return the writes of runs that have a node: as another's parent, or since they were told before."""
    known = [change for id_, change in entities.changes.items() if id_ not in entities.unheard]
    moves = [change for change in known if change.old is None or change.old.job != change.new.job]
    return [
        _statement("upsert_runs", [change.row for change in known]),
        _statement("set_last_run_states", _state_rows(known)),
        _statement("unlink_run_job", [{"run": change.row["key"]} for change in moves if change.old is not None]),
        _statement("link_run_job", [{"run": change.row["key"], "job": change.row["job"]} for change in moves]),
    ]


def _state_rows(known: Iterable[RunChange]) -> Iterator[Row]:
    """Yield how runs stand that may be the last of their versions: that changes without a fold."""
    for change in known:
        stands = (change.new.state, change.new.streaming)
        if change.old is not None and change.version is not None and stands != (change.old.state, change.old.streaming):
            row = change.row
            yield {"version": change.version, "run": row["id"], "state": row["state"], "streaming": row["streaming"]}


def _run_parent_statements(changes: Iterable[RunChange]) -> list[Statement]:
    cut: list[Row] = []
    parents: list[Row] = []
    parent_jobs: list[Row] = []
    named_runs: list[Row] = []
    named_jobs: list[Key] = []
    for change in changes:
        old, new = change.old, change.new
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
        _statement("upsert_named_runs", list({row["key"]: row for row in named_runs}.values())),
        *_placeholders("upsert_named_jobs", named_jobs, job_hash),
        _statement("unlink_run_parents", cut),
        _statement("link_run_parents", parents),
        _statement("link_run_parent_jobs", parent_jobs),
        _statement("delete_unnamed_runs", [{"key": row["parent"]} for row in cut]),
        _statement("delete_unnamed_jobs", [{"key": row["parent"]} for row in cut]),
    ]


def _parent_cuts(run_id: str, parent: read.Parent) -> list[Row]:
    hashes = [run_hash(parent.run_id)] if parent.run_id is not None else []
    hashes += [job_hash(parent.job)] if parent.job is not None else []
    return [{"run": run_hash(run_id), "parent": hash_} for hash_ in hashes]


def _placeholders(name: str, keys: Iterable[Key], hash_of: object) -> list[Statement]:
    assert callable(hash_of)
    rows = [{"key": hash_of(key), "namespace": key[0], "name": key[1]} for key in dict.fromkeys(keys)]
    return [_statement(name, rows)]


def _statement(name: str, rows: Iterable[Row]) -> Statement:
    return Statement(name, tuple(rows))
