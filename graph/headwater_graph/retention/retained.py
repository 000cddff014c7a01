"""What retention keeps (specification 7), put back into a graph from which all that follows from records was taken away."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from headwater_avro.names import Key
from headwater_graph.apply.current_graph import FoldState, JobNow, apply_current_graph
from headwater_graph.apply.dataset_versions import dropped_row
from headwater_graph.apply.fold_writes import version_row
from headwater_graph.apply.limits import Limits
from headwater_graph.apply.lineage_sources import retained_sources_of
from headwater_graph.model.node_keys import dataset_hash, job_hash, run_hash
from headwater_graph.model.records import DatasetRecord, unpack
from headwater_graph.model.values import LATEST, JobVersion, RetainedPast, Row, Statement, StoredDataset
from headwater_graph.rules.dataset_versions import unmade_id
from headwater_graph.rules.job_versions import as_retained
from headwater_graph.store.port import Transaction


def restore_retained_jobs(tx: Transaction, jobs: dict[Key, list[JobVersion]], limits: Limits) -> None:
    """Put the kept versions of jobs, each job's by moment, and what is current of them."""
    versions = [as_retained(one) for listed in jobs.values() for one in listed]
    ends = [{"id": one.id, "end": after.since[0]} for listed in jobs.values() for one, after in pairwise(listed)]
    ends += [{"id": listed[-1].id, "end": None} for listed in jobs.values()]
    makers = [{"key": run_hash(one.made_by), "id": one.made_by, "made": True} for one in versions if one.made_by]
    current = [{"job": job_hash(job), "version": listed[-1].id} for job, listed in jobs.items()]
    tx.write(
        (
            Statement("upsert_job_versions", tuple(map(version_row, versions))),
            Statement("set_retained_runs", tuple({"id": one.id, "runs": _kept(one).runs} for one in versions)),
            Statement("set_last_runs", tuple(map(_last_row, versions))),
            Statement("set_job_version_ends", tuple(ends)),
            Statement("upsert_removed_runs", tuple(makers)),
            Statement("link_current_job_versions", tuple(current)),
        )
    )
    stored = tx.jobs(jobs)
    apply_current_graph(tx, [_job_now(job, jobs[job][-1], stored[job].past) for job in jobs], limits)


def _job_now(job: Key, version: JobVersion, past: bytes | None) -> JobNow:
    last = _kept(version).last or version.since
    state = FoldState(folded_to=max(version.since, last))
    return JobNow(job, None, state, as_retained(version), past=retained_sources_of(past))


def _kept(version: JobVersion) -> RetainedPast:
    assert version.kept is not None
    return version.kept


def _last_row(version: JobVersion) -> Row:
    last = _kept(version).last
    return {"id": version.id, "lastRun": last[1] if last else None, "lastRunAt": last[0] if last else None}


def restore_retained_datasets(tx: Transaction, datasets: dict[Key, list[Row]]) -> None:
    """Restore retained dataset versions (rows of ``check/retained_dataset_versions``) and what is current of them."""
    rows = [row for listed in datasets.values() for row in listed]
    made = [row for row in rows if row["moment"] is not None]
    makers = tuple({"key": run_hash(row["madeBy"]), "id": row["madeBy"]} for row in made)
    unmade = [row for row in rows if row["moment"] is None]
    tx.write(
        (
            Statement("upsert_removed_runs", makers),
            Statement("upsert_dataset_versions", tuple(map(_made_row, made))),
            Statement("upsert_unmade_versions", tuple(map(_unmade_row, unmade))),
        )
    )
    stored = tx.datasets(datasets)
    latest = tx.made_before([(key, LATEST, "") for key in datasets])
    current = {key: one.id if one else _past_id(key, stored[key]) for key, one in zip(datasets, latest, strict=True)}
    tx.write(
        (
            Statement(
                "link_current_dataset_versions",
                tuple({"dataset": dataset_hash(key), "version": id_} for key, id_ in current.items()),
            ),
            Statement("set_dropped", tuple(_dropped_row(tx, key, stored[key]) for key in datasets)),
        )
    )


def _made_row(row: Row) -> Row:
    told = {name: row[name] for name in ("id", "moment", "madeBy", "external", "state", "schema", "drops", "text")}
    return told | {"dataset": dataset_hash(_key(row)), "tie": row["madeBy"], "run": run_hash(row["madeBy"])}


def _unmade_row(row: Row) -> Row:
    return {"id": row["id"], "dataset": dataset_hash(_key(row)), "external": row["external"]}


def _key(row: Row) -> Key:
    return (row["dataset"][0], row["dataset"][1])


def _past_id(dataset: Key, stored: StoredDataset) -> str | None:
    return unmade_id(dataset, stored.past.external) if stored.past is not None else None


def _dropped_row(tx: Transaction, dataset: Key, stored: StoredDataset) -> Row:
    return dropped_row(tx, dataset, unpack(stored.record, DatasetRecord) if stored.record else DatasetRecord())


def by_dataset(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    """Return rows of kept dataset versions by their datasets."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(_key(row), []).append(row)
    return found
