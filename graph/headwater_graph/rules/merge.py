"""Specification 2: the join of what events tell, commutative, associative and idempotent.

2.1  Events are ordered by (eventTime, type rank). Where two tie, each thing they carry is decided by itself: the
     instance with the greater canonical JSON text stays.
2.2  Inputs and outputs are the union over all events.
2.3  Facets are joined per container and name; a facet is atomic.

The functions named ``absorb`` change their first argument, the record under construction, and nothing else.
"""

from __future__ import annotations

from headwater_avro.canonical import canonical_text
from headwater_avro.events import (
    ABORT,
    COMPLETE,
    FAIL,
    OTHER,
    RUNNING,
    START,
    DatasetEvent,
    JobEvent,
    ListedDataset,
    RunEvent,
)
from headwater_avro.names import Key
from headwater_graph.model.records import DatasetRecord, Facets, Instance, JobRecord, Listing, Naming, RunRecord
from headwater_graph.rules.facets import lineage_entries, parent_of

_TERMINAL = frozenset((COMPLETE, ABORT, FAIL))
_OPENING = frozenset((START, RUNNING))


def later(one: Instance, other: Instance) -> Instance:
    """Return the instance that stays (specification 2.1)."""
    if one[0] != other[0] or one[1] != other[1]:
        return one if one[:2] > other[:2] else other
    if one[2] == other[2]:
        return one
    return other if canonical_text(other[2]) > canonical_text(one[2]) else one


def absorb_facets(facets: Facets, more: Facets) -> None:
    """Join facet containers (specification 2.3)."""
    for name, instance in more.items():
        known = facets.get(name)
        facets[name] = instance if known is None else later(known, instance)


def run_of(event: RunEvent) -> RunRecord:
    """Return the record of a run of which only this event is known."""
    time, rank = event.time, event.rank
    facets = _instances(event.run_facets, time, rank)
    job_facets = _instances(event.job_facets, time, rank)
    return RunRecord(
        jobs={event.job: Naming(time, rank, job_facets, _parent_instance(event))},
        first=time,
        last=time,
        started=time if rank == START else None,
        ended=time if rank in _TERMINAL else None,
        terminal=rank if rank in _TERMINAL else 0,
        opened=rank in _OPENING,
        facets=facets,
        inputs={one.key: _listing(one, time, rank) for one in event.inputs},
        outputs={one.key: _listing(one, time, rank) for one in event.outputs},
        entries=set(lineage_entries(event.job_facets.get("lineage"))),
    )


def _instances(texts: dict[str, bytes], time: int, rank: int) -> Facets:
    return {name: (time, rank, text) for name, text in texts.items()}


def _listing(one: ListedDataset, time: int, rank: int) -> Listing:
    return Listing(time, time, rank, _instances(one.facets, time, rank), _instances(one.own, time, rank))


def _parent_instance(event: RunEvent) -> Instance | None:
    """The job that this event gives as the parent of the job it names (specification 2.8)."""
    texts = event.run_facets
    if "parent" not in texts and "parentRun" not in texts:
        return None
    parent = parent_of(texts.get("parent"), texts.get("parentRun"))
    return (event.time, event.rank, parent.job_text.encode()) if parent.job_text else None


def absorb_run(run: RunRecord, other: RunRecord) -> None:
    """Join two records of one run (specification 2.1 to 2.6)."""
    _absorb_jobs(run.jobs, other.jobs)
    run.first = min(run.first, other.first)
    run.last = max(run.last, other.last)
    run.started = _least(run.started, other.started)
    run.ended = _greatest(run.ended, other.ended)
    run.terminal = max(run.terminal, other.terminal)
    run.opened = run.opened or other.opened
    absorb_facets(run.facets, other.facets)
    _absorb_side(run.inputs, other.inputs)
    _absorb_side(run.outputs, other.outputs)
    run.entries |= other.entries


def _least(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else min(one, other)


def _greatest(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else max(one, other)


def _absorb_jobs(jobs: dict[Key, Naming], more: dict[Key, Naming]) -> None:
    for key, other in more.items():
        known = jobs.get(key)
        if known is None:
            jobs[key] = Naming(other.time, other.rank, dict(other.facets), other.parent)
            continue
        known.time, known.rank = max((known.time, known.rank), (other.time, other.rank))
        absorb_facets(known.facets, other.facets)
        known.parent = _later_or_only(known.parent, other.parent)


def _later_or_only(one: Instance | None, other: Instance | None) -> Instance | None:
    return one if other is None else other if one is None else later(one, other)


def _absorb_side(side: dict[Key, Listing], more: dict[Key, Listing]) -> None:
    for key, other in more.items():
        known = side.get(key)
        if known is None:
            side[key] = Listing(other.first, other.time, other.rank, dict(other.facets), dict(other.own))
            continue
        known.first = min(known.first, other.first)
        known.time, known.rank = max((known.time, known.rank), (other.time, other.rank))
        absorb_facets(known.facets, other.facets)
        absorb_facets(known.own, other.own)


# ---- what is known of a job or a dataset, over all its runs and events (specification 6.8, 2.8) ---------------------------------


def absorb_job(job: JobRecord, other: JobRecord) -> None:
    """Join two records of one job."""
    absorb_facets(job.facets, other.facets)
    job.parent = _later_or_only(job.parent, other.parent)


def absorb_dataset(dataset: DatasetRecord, other: DatasetRecord) -> None:
    """Join two records of one dataset."""
    absorb_facets(dataset.facets, other.facets)


def jobs_in(run: RunRecord) -> dict[Key, JobRecord]:
    """Return what a run's events tell of the jobs they name: a job facet counts for the job its own event names."""
    return {key: JobRecord(dict(naming.facets), naming.parent) for key, naming in run.jobs.items()}


def datasets_in(inputs: dict[Key, Listing], outputs: dict[Key, Listing]) -> dict[Key, DatasetRecord]:
    """Return what two sides tell of their datasets, inputs and outputs alike, snapshots or not."""
    datasets = {key: DatasetRecord(dict(listing.facets)) for key, listing in inputs.items()}
    for key, listing in outputs.items():
        absorb_facets(datasets.setdefault(key, DatasetRecord()).facets, listing.facets)
    return datasets


def sides_of(event: JobEvent) -> tuple[dict[Key, Listing], dict[Key, Listing]]:
    """Return the two sides of a JobEvent; it ranks as OTHER (specification 2.1)."""
    inputs = {one.key: _listing(one, event.time, OTHER) for one in event.inputs}
    outputs = {one.key: _listing(one, event.time, OTHER) for one in event.outputs}
    return inputs, outputs


def job_of(event: JobEvent) -> JobRecord:
    """Return what a JobEvent tells of its job."""
    return JobRecord(_instances(event.job_facets, event.time, OTHER))


def dataset_of(event: DatasetEvent) -> DatasetRecord:
    """Return what a DatasetEvent tells of its dataset."""
    return DatasetRecord(_instances(event.facets, event.time, OTHER))
