"""Runs as a batch changes them, and the jobs and datasets that its records and events name; nothing stored is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headwater_avro.canonical import canonical
from headwater_avro.events import DatasetEvent, JobEvent
from headwater_avro.names import Key
from headwater_graph.model.node_keys import job_node_key, run_node_key
from headwater_graph.model.records import DatasetRecord, JobRecord, RunRecord, pack
from headwater_graph.model.values import Row
from headwater_graph.rules.merge import absorb_dataset, absorb_job, dataset_of, datasets_in, job_of, jobs_in, sides_of
from headwater_graph.rules.runs import RunReading, read_run


@dataclass(frozen=True, slots=True)
class RunChange:
    """A run that a batch changes: as it is stored (``old``, None if unknown) with its job version, and as it becomes.

    ``row`` is its node. Everything else that is written of the run follows from ``new``.
    """

    old: RunReading | None
    version: str | None
    new: RunReading
    row: Row


def change_to(
    run_id: str,
    record: RunRecord,
    old: RunReading | None = None,
    version: str | None = None,
    packed: bytes | None = None,
) -> RunChange:
    """Return the change that makes a run's record this one; ``packed`` is this record as it came, if it came whole."""
    new = read_run(run_id, record)
    return RunChange(old, version, new, run_row(new, packed or pack(record)))


def run_row(run: RunReading, packed: bytes) -> Row:
    """Return a run's node: its packed record, and the properties that are queried most."""
    return {
        "key": run_node_key(run.id),
        "id": run.id,
        "job": job_node_key(run.job),
        "record": packed,
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
        "error": run.error,
    }


@dataclass(frozen=True, slots=True)
class NamedEntities:
    """Records of the jobs and datasets that runs and events name."""

    jobs: dict[Key, JobRecord] = field(default_factory=dict)
    datasets: dict[Key, DatasetRecord] = field(default_factory=dict)


def named_by(
    records: Iterable[RunRecord], job_events: Iterable[JobEvent], dataset_events: Iterable[DatasetEvent]
) -> NamedEntities:
    """Return the merged records of the jobs and datasets that runs and events name (specification 6.8)."""
    named = NamedEntities()
    for record in records:
        for key, job in jobs_in(record).items():
            absorb_job(named.jobs.setdefault(key, JobRecord()), job)
        _absorb_all(named.datasets, datasets_in(record.inputs, record.outputs))
    for job_event in job_events:
        absorb_job(named.jobs.setdefault(job_event.job, JobRecord()), job_of(job_event))
        _absorb_all(named.datasets, datasets_in(*sides_of(job_event)))
    for dataset_event in dataset_events:
        _absorb_all(named.datasets, {dataset_event.dataset: dataset_of(dataset_event)})
    return named


def _absorb_all(datasets: dict[Key, DatasetRecord], more: dict[Key, DatasetRecord]) -> None:
    for key, dataset in more.items():
        absorb_dataset(datasets.setdefault(key, DatasetRecord()), dataset)
