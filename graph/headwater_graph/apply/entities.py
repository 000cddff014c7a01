"""Runs, jobs and datasets: new records merged with stored ones, their nodes and names (specification 1.7, 2, 6.7, 6.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from headwater_avro.canonical import canonical, canonical_text
from headwater_avro.names import Key
from headwater_graph.apply.merged import MergedRows
from headwater_graph.apply.run_changes import NamedEntities, RunChange, change_to
from headwater_graph.model.facet_properties import dataset_properties_of, job_properties_of
from headwater_graph.model.node_keys import dataset_node_key, job_node_key, run_node_key
from headwater_graph.model.records import DatasetRecord, Facets, JobRecord, RunRecord, pack, unpack
from headwater_graph.model.values import Row, StoredDataset, StoredJob, Writes
from headwater_graph.rules import facets as read
from headwater_graph.rules.horizon import HorizonRejection, judge_run
from headwater_graph.rules.merge import absorb_dataset, absorb_job, absorb_run
from headwater_graph.rules.runs import read_run
from headwater_graph.store.port import Transaction

JobOrDataset: TypeAlias = JobRecord | DatasetRecord


@dataclass(slots=True)
class Entities:
    """The runs that changed, and the jobs and datasets that the batch names, as stored before and as merged.

    ``new_runs`` are the runs that have no node yet, not even as a parent. ``drop_reported`` are the datasets whose merged
    facet states DROP, or did so before.
    """

    changes: dict[str, RunChange] = field(default_factory=dict)
    new_runs: set[str] = field(default_factory=set)
    stored_jobs: dict[Key, StoredJob] = field(default_factory=dict)
    jobs: dict[Key, JobRecord] = field(default_factory=dict)
    stored_datasets: dict[Key, StoredDataset] = field(default_factory=dict)
    datasets: dict[Key, DatasetRecord] = field(default_factory=dict)
    drop_reported: set[Key] = field(default_factory=set)
    rejected: list[HorizonRejection] = field(default_factory=list)


def apply_entities(tx: Transaction, batch: MergedRows) -> Entities:
    """Merge the records of a batch with the stored ones and write the nodes; duplicates write nothing."""
    entities = Entities()
    _merge_runs(tx, batch, entities)
    rejected = {rejection.key for rejection in entities.rejected}
    named = batch.named_without(rejected) if rejected else batch.named
    _load_named(tx, named, entities)
    # These need nothing more: the server writes them while the records of jobs and datasets are merged here.
    tx.write(_new_run_writes(entities))
    tx.write(_merge_jobs(named.jobs, entities))
    tx.write(_merge_datasets(named.datasets, entities))
    tx.write(_known_run_writes(entities))
    tx.write(_run_parent_writes(entities.changes.values()))
    tx.write({"set_run_horizons": _horizon_rows(tx, entities)})
    return entities


def _load_named(tx: Transaction, named: NamedEntities, entities: Entities) -> None:
    entities.stored_jobs = tx.jobs(named.jobs)
    entities.stored_datasets = tx.datasets(named.datasets)


def _horizon_rows(tx: Transaction, entities: Entities) -> list[Row]:
    """A run stores the horizon that was in force when its first event was accepted (specification 10.11)."""
    if tx.horizon is None:
        return []
    new = (change.new.id for change in entities.changes.values() if change.old is None)
    return [{"key": run_node_key(id_), "horizon": tx.horizon} for id_ in new]


def write_names(tx: Transaction, jobs: dict[Key, JobRecord], datasets: dict[Key, DatasetRecord]) -> None:
    """Write everything that follows from the records of jobs and datasets of which only the records are there."""
    entities = Entities()
    _load_named(tx, NamedEntities(jobs, datasets), entities)
    tx.write(_merge_jobs(jobs, entities))
    tx.write(_merge_datasets(datasets, entities))
    drops = [{"dataset": dataset_node_key(key), "dropped": True} for key in sorted(entities.drop_reported)]
    tx.write({"set_dropped": drops})


def _merge_runs(tx: Transaction, batch: MergedRows, entities: Entities) -> None:
    """Add the changed runs, and the runs that the horizon rejects."""
    stored = tx.runs(batch.runs)
    for run_id, record in batch.runs.items():
        known = stored.get(run_id)
        rejection = judge_run(run_id, record, known, tx.horizon)
        if rejection is not None:
            entities.rejected.append(rejection)
            continue
        if known is None or known.record is None:
            entities.changes[run_id] = batch.changes[run_id]
            if known is None:
                entities.new_runs.add(run_id)
            continue
        before, merged = unpack(known.record, RunRecord), unpack(known.record, RunRecord)
        absorb_run(merged, record)
        if merged != before:
            entities.changes[run_id] = change_to(run_id, merged, read_run(run_id, before), known.version)


# ---- jobs ----------------------------------------------------------------------------------------------------------


def _merge_jobs(jobs: dict[Key, JobRecord], entities: Entities) -> Writes:
    rows: list[Row] = []
    unlinked: list[Row] = []
    children: list[Row] = []
    parents: list[Key] = []
    for key, record in jobs.items():
        stored = entities.stored_jobs.get(key)
        before = unpack(stored.record, JobRecord) if stored and stored.record else None
        if before is not None:
            merged = JobRecord(dict(before.facets), before.parent)
            absorb_job(merged, record)
            record = merged
        entities.jobs[key] = record
        if record == before:
            continue
        rows.append(_named_row(job_node_key(key), key, record, before, job_properties_of))
        old, new = _job_parent(before), _job_parent(record)
        if old != new:
            unlinked.extend([{"key": job_node_key(key), "parent": job_node_key(old)}] if old else [])
            children.extend([{"key": job_node_key(key), "parent": job_node_key(new)}] if new else [])
            parents.extend([new] if new else [])
    return {
        "upsert_jobs": rows,
        "upsert_named_jobs": _placeholders(parents, job_node_key),
        "unlink_job_parents": unlinked,
        "link_job_parents": children,
        "delete_unnamed_jobs": [{"key": row["parent"]} for row in unlinked],
    }


def _job_parent(record: JobRecord | None) -> Key | None:
    return None if record is None or record.parent is None else read.key_from(record.parent[2])


def _named_row(
    node_key: str, key: Key, record: JobOrDataset, before: JobOrDataset | None, properties_of: Callable[[str], Row]
) -> Row:
    """Return the row of a job or dataset; its facets, and the properties that follow from them, only if they changed."""
    row: Row = {"key": node_key, "namespace": key[0], "name": key[1], "record": pack(record)}
    if before is None or _texts(before.facets) != _texts(record.facets):
        text = facets_text(record.facets)
        row["properties"] = {"facets": text, **properties_of(text)}
    return row


def _texts(facets: Facets) -> dict[str, bytes]:
    return {name: instance[2] for name, instance in facets.items()}


def facets_text(facets: Facets) -> str:
    """Return a job's or dataset's facets as a canonical JSON object, without the deleted ones (specification 2.4)."""
    living = sorted(read.without_deleted(facets).items())
    return "{" + ",".join(f"{canonical(name)}:{canonical_text(instance[2])}" for name, instance in living) + "}"


# ---- datasets ------------------------------------------------------------------------------------------------------


def _merge_datasets(datasets: dict[Key, DatasetRecord], entities: Entities) -> Writes:
    rows: list[Row] = []
    unlinked: list[Row] = []
    linked: list[Row] = []
    aliases: list[Key] = []
    new: list[Row] = []
    for key, record in datasets.items():
        stored = entities.stored_datasets.get(key)
        before, record = _with_stored_dataset(stored, record)
        entities.datasets[key] = record
        if record == before:
            continue
        row = _named_row(dataset_node_key(key), key, record, before, dataset_properties_of)
        row["saysDrop"] = read.says_drop(record.facets) or None
        rows.append(row)
        if stored is None:
            new.append({"key": row["key"]})
        if row["saysDrop"] or (stored is not None and stored.says_drop):
            entities.drop_reported.add(key)
        old, now = _aliases(before, key), _aliases(record, key)
        added = [alias for alias in now if alias not in old]
        unlinked += [{"key": row["key"], "alias": dataset_node_key(alias)} for alias in old if alias not in now]
        linked += [{"key": row["key"], "alias": dataset_node_key(alias)} for alias in added]
        aliases += added
    return {
        "upsert_datasets": rows,
        "upsert_named_datasets": _placeholders(aliases, dataset_node_key),
        "link_fields": [*new, *({"key": dataset_node_key(alias)} for alias in dict.fromkeys(aliases))],
        "unlink_aliases": unlinked,
        "link_aliases": linked,
        "delete_unnamed_datasets": [{"key": row["alias"]} for row in unlinked],
    }


def _with_stored_dataset(
    stored: StoredDataset | None, record: DatasetRecord
) -> tuple[DatasetRecord | None, DatasetRecord]:
    """Return the stored record, None without one, and the merge of both."""
    if stored is None or not stored.record:
        return None, record
    before = unpack(stored.record, DatasetRecord)
    merged = DatasetRecord(dict(before.facets))
    absorb_dataset(merged, record)
    return before, merged


def _aliases(record: DatasetRecord | None, own: Key) -> tuple[Key, ...]:
    """Return the other keys of a dataset (specification 6.7); its own key is not an alias (9.3)."""
    if record is None:
        return ()
    return tuple(key for key in read.aliases_of(read.living(record.facets, "symlinks")) if key != own)


# ---- runs ----------------------------------------------------------------------------------------------------------


def _new_run_writes(entities: Entities) -> Writes:
    """Return the writes of runs without a node, and of their jobs without a node."""
    new = [change for id_, change in entities.changes.items() if id_ in entities.new_runs]
    jobs = (change.new.job for change in new if change.new.job not in entities.stored_jobs)
    return {
        "upsert_named_jobs": _placeholders(jobs, job_node_key),
        "create_runs": [change.row for change in new],
    }


def _known_run_writes(entities: Entities) -> Writes:
    """Return the writes of runs that have a node, perhaps only as a parent."""
    known = [change for id_, change in entities.changes.items() if id_ not in entities.new_runs]
    moves = [change for change in known if change.old is None or change.old.job != change.new.job]
    return {
        "upsert_runs": [change.row for change in known],
        "set_last_run_states": list(_state_rows(known)),
        "unlink_run_job": [{"run": change.row["key"]} for change in moves if change.old is not None],
        "link_run_job": [{"run": change.row["key"], "job": change.row["job"]} for change in moves],
    }


def _state_rows(known: Iterable[RunChange]) -> Iterator[Row]:
    """Yield the states of runs that may be the last of their versions: these change without a fold."""
    for change in known:
        old, new, row = change.old, change.new, change.row
        if change.version is None or old is None or (new.state, new.streaming) == (old.state, old.streaming):
            continue
        yield {"version": change.version, "run": row["id"], "state": row["state"], "streaming": row["streaming"]}


def _run_parent_writes(changes: Iterable[RunChange]) -> Writes:
    unlinked: list[Row] = []
    parents: list[Row] = []
    parent_jobs: list[Row] = []
    named_runs: list[Row] = []
    named_jobs: list[Key] = []
    for change in changes:
        new = change.new
        before = change.old.parent if change.old else read.Parent()
        if before == new.parent:
            continue
        unlinked.extend(_unlinked_parents(new.id, before))
        if new.parent.run_id is not None:
            named_runs.append({"key": run_node_key(new.parent.run_id), "id": new.parent.run_id})
            parents.append({"run": run_node_key(new.id), "parent": run_node_key(new.parent.run_id)})
        if new.parent.job is not None:
            named_jobs.append(new.parent.job)
            parent_jobs.append({"run": run_node_key(new.id), "parent": job_node_key(new.parent.job)})
    return {
        "upsert_named_runs": list({row["key"]: row for row in named_runs}.values()),
        "upsert_named_jobs": _placeholders(named_jobs, job_node_key),
        "unlink_run_parents": unlinked,
        "link_run_parents": parents,
        "link_run_parent_jobs": parent_jobs,
        "delete_unnamed_runs": [{"key": row["parent"]} for row in unlinked],
        "delete_unnamed_jobs": [{"key": row["parent"]} for row in unlinked],
    }


def _unlinked_parents(run_id: str, parent: read.Parent) -> list[Row]:
    node_keys = [run_node_key(parent.run_id)] if parent.run_id is not None else []
    node_keys += [job_node_key(parent.job)] if parent.job is not None else []
    return [{"run": run_node_key(run_id), "parent": node_key} for node_key in node_keys]


def _placeholders(keys: Iterable[Key], node_key_of: Callable[[Key], str]) -> list[Row]:
    return [{"key": node_key_of(key), "namespace": key[0], "name": key[1]} for key in dict.fromkeys(keys)]
