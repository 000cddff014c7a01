"""Runs as a batch changes them, and what its records and events tell of jobs and datasets: nothing stored is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headwater_avro.canonical import canonical
from headwater_avro.events import DatasetEvent, JobEvent
from headwater_avro.names import Key
from headwater_graph.apply.lineage_sources import LineageSource, lineage_source_of_run
from headwater_graph.model.node_keys import job_hash, run_hash
from headwater_graph.model.records import DatasetRecord, JobRecord, RunRecord, pack
from headwater_graph.model.values import Row
from headwater_graph.rules import facets as read
from headwater_graph.rules.merge import absorb_dataset, absorb_job, dataset_of, datasets_in, job_of, jobs_in, sides_of
from headwater_graph.rules.runs import Run, read_run


@dataclass(frozen=True, slots=True)
class RunChange:
    """A run that a batch tells something new of: as it was (None if unheard of), and the version it was in, as it is.

    ``row`` is its node, ``lineage_source`` what it tells of its job's columns and explicit lineage.
    """

    old: Run | None
    version: str | None
    new: Run
    row: Row
    lineage_source: LineageSource | None


def change_to(
    run_id: str, record: RunRecord, old: Run | None = None, version: str | None = None, packed: bytes | None = None
) -> RunChange:
    """Return the change that makes a run's record this one; ``packed`` is the record as it came, where it is that."""
    new = read_run(run_id, record)
    return RunChange(old, version, new, run_row(new, record, packed), lineage_source_of_run(new, record))


def run_row(run: Run, record: RunRecord, packed: bytes | None = None) -> Row:
    """Return a run's node: its record, and of what it says the parts that are asked for most."""
    return {
        "key": run_hash(run.id),
        "id": run.id,
        "job": job_hash(run.job),
        "record": packed or pack(record),
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


@dataclass(frozen=True, slots=True)
class NamedEntities:
    """What is told of the jobs and datasets that records and events name."""

    jobs: dict[Key, JobRecord]
    datasets: dict[Key, DatasetRecord]


def named_by(
    records: Iterable[RunRecord], job_events: Iterable[JobEvent], dataset_events: Iterable[DatasetEvent]
) -> NamedEntities:
    """Return what records of runs and events of none tell of jobs and datasets, joined (specification 6.8)."""
    named = NamedEntities({}, {})
    for record in records:
        for key, job in jobs_in(record).items():
            absorb_job(named.jobs.setdefault(key, JobRecord()), job)
        _absorb_all(named.datasets, datasets_in(record.inputs, record.outputs))
    for event in job_events:
        absorb_job(named.jobs.setdefault(event.job, JobRecord()), job_of(event))
        _absorb_all(named.datasets, datasets_in(*sides_of(event)))
    for event_ in dataset_events:
        _absorb_all(named.datasets, {event_.dataset: dataset_of(event_)})
    return named


def _absorb_all(datasets: dict[Key, DatasetRecord], more: dict[Key, DatasetRecord]) -> None:
    for key, dataset in more.items():
        absorb_dataset(datasets.setdefault(key, DatasetRecord()), dataset)
