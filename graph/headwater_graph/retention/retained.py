"""What retention retains (specification 10), restored in a graph from which everything derived was removed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from headwater_avro.names import Key
from headwater_graph.apply.current_graph import FoldState, JobNow, apply_current_graph
from headwater_graph.apply.current_versions import dropped_row
from headwater_graph.apply.fold_writes import version_row
from headwater_graph.apply.limits import TransactionLimits
from headwater_graph.apply.lineage_sources import retained_sources_of
from headwater_graph.model.node_keys import dataset_node_key, job_node_key, run_node_key
from headwater_graph.model.records import DatasetRecord, unpack
from headwater_graph.model.values import LATEST, JobVersion, RetainedCounts, Row, StoredDataset
from headwater_graph.rules.dataset_versions import unwritten_version_id
from headwater_graph.rules.job_versions import as_retained
from headwater_graph.store.port import Transaction


def restore_retained_jobs(tx: Transaction, jobs: dict[Key, list[JobVersion]], limits: TransactionLimits) -> None:
    """Restore the retained versions of jobs, those of each job by moment, and the current graph of these jobs."""
    versions = [as_retained(version) for listed in jobs.values() for version in listed]
    ends = [{"id": first.id, "end": after.since[0]} for listed in jobs.values() for first, after in pairwise(listed)]
    ends += [{"id": listed[-1].id, "end": None} for listed in jobs.values()]
    made_by = [version.made_by for version in versions if version.made_by]
    current = [{"job": job_node_key(job), "version": listed[-1].id} for job, listed in jobs.items()]
    tx.write(
        {
            "upsert_job_versions": list(map(version_row, versions)),
            "set_retained_runs": [{"id": item.id, "runs": _counts(item).runs} for item in versions],
            "set_last_runs": list(map(_last_run_row, versions)),
            "set_job_version_ends": ends,
            "upsert_removed_runs": [{"key": run_node_key(id_), "id": id_, "made": True} for id_ in made_by],
            "link_current_job_versions": current,
        }
    )
    stored = tx.jobs(jobs)
    apply_current_graph(tx, [_job_now(job, jobs[job][-1], stored[job].retained_sources) for job in jobs], limits)


def _job_now(job: Key, version: JobVersion, sources: bytes | None) -> JobNow:
    last = _counts(version).last or version.since
    state = FoldState(folded_to=max(version.since, last))
    return JobNow(job, None, state, as_retained(version), retained=retained_sources_of(sources))


def _counts(version: JobVersion) -> RetainedCounts:
    assert version.retained is not None
    return version.retained


def _last_run_row(version: JobVersion) -> Row:
    last = _counts(version).last
    return {"id": version.id, "lastRun": last[1] if last else None, "lastRunAt": last[0] if last else None}


def restore_retained_datasets(tx: Transaction, datasets: dict[Key, list[Row]]) -> None:
    """Restore retained dataset versions (rows of ``check/retained_dataset_versions``) and what is current of them."""
    rows = [row for listed in datasets.values() for row in listed]
    made = [row for row in rows if row["moment"] is not None]
    makers = tuple({"key": run_node_key(row["madeBy"]), "id": row["madeBy"]} for row in made)
    unwritten = [row for row in rows if row["moment"] is None]
    tx.write(
        {
            "upsert_removed_runs": makers,
            "upsert_dataset_versions": list(map(_made_row, made)),
            "upsert_unmade_versions": list(map(_unwritten_row, unwritten)),
        }
    )
    stored = tx.datasets(datasets)
    latest = tx.made_before([(key, LATEST, "") for key in datasets])
    current = [
        {"dataset": dataset_node_key(key), "version": made.id if made else _retained_id(key, stored[key])}
        for key, made in zip(datasets, latest, strict=True)
    ]
    tx.write(
        {
            "link_current_dataset_versions": current,
            "set_dropped": [_dropped_row(tx, key, stored[key]) for key in datasets],
        }
    )


_COPIED = ("id", "moment", "madeBy", "external", "state", "schema", "drops", "text")


def _made_row(row: Row) -> Row:
    copied = {name: row[name] for name in _COPIED}
    return copied | {"dataset": dataset_node_key(_key(row)), "tie": row["madeBy"], "run": run_node_key(row["madeBy"])}


def _unwritten_row(row: Row) -> Row:
    return {"id": row["id"], "dataset": dataset_node_key(_key(row)), "external": row["external"]}


def _key(row: Row) -> Key:
    return (row["dataset"][0], row["dataset"][1])


def _retained_id(dataset: Key, stored: StoredDataset) -> str | None:
    read = stored.retained_read
    return None if read is None else unwritten_version_id(dataset, read.external)


def _dropped_row(tx: Transaction, dataset: Key, stored: StoredDataset) -> Row:
    return dropped_row(tx, dataset, unpack(stored.record, DatasetRecord) if stored.record else DatasetRecord())


def by_dataset(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Return rows of retained dataset versions by their datasets."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(_key(row), []).append(row)
    return found
