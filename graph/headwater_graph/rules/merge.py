"""Specification 2: the merge of events into records. It is commutative, associative and idempotent.

Theory of operation. A record of a run, job or dataset is an element of a join semilattice, and so are its parts:

- the first and the last time, the state and ``opened`` are minima and maxima;
- inputs, outputs, job keys and entries are unions (2.2);
- each facet, and the parent of a job, is the greatest of its instances (2.3). Instances are ordered by eventTime, type
  rank and canonical JSON text (2.1). The last part makes the order total, except for texts of one JSON value, of which
  it does not matter which one remains.

Minimum, maximum, union and the greatest of a total order are commutative, associative and idempotent, hence so is the
merge of records. That is why the order, the number and the batches of deliveries do not matter.

The functions named ``absorb`` change their first argument, the record under construction, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

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

Value = TypeVar("Value", int, Instance)

_TERMINAL = frozenset((COMPLETE, ABORT, FAIL))
_OPENING = frozenset((START, RUNNING))


def later(first: Instance, second: Instance) -> Instance:
    """Return the greater of two instances (specification 2.1)."""
    if first[0] != second[0] or first[1] != second[1]:
        return first if first[:2] > second[:2] else second
    if first[2] == second[2]:
        return first
    return second if canonical_text(second[2]) > canonical_text(first[2]) else first


def absorb_facets(facets: Facets, more: Facets) -> None:
    """Merge a facet container into another (specification 2.3)."""
    for name, instance in more.items():
        known = facets.get(name)
        facets[name] = instance if known is None else later(known, instance)


def run_of(event: RunEvent) -> RunRecord:
    """Return the record of a run that has only this event."""
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
        inputs=_side(event.inputs, time, rank),
        outputs=_side(event.outputs, time, rank),
        entries=set(lineage_entries(event.job_facets.get("lineage"))),
    )


def _instances(texts: dict[str, bytes], time: int, rank: int) -> Facets:
    return {name: (time, rank, text) for name, text in texts.items()}


def _side(datasets: Iterable[ListedDataset], time: int, rank: int) -> dict[Key, Listing]:
    return {
        dataset.key: Listing(
            time, time, rank, _instances(dataset.facets, time, rank), _instances(dataset.own, time, rank)
        )
        for dataset in datasets
    }


def _parent_instance(event: RunEvent) -> Instance | None:
    """Return the job that this event gives as the parent of its job (specification 2.8)."""
    texts = event.run_facets
    if "parent" not in texts and "parentRun" not in texts:
        return None
    parent = parent_of(texts.get("parent"), texts.get("parentRun"))
    return (event.time, event.rank, parent.job_text.encode()) if parent.job_text else None


def absorb_run(run: RunRecord, other: RunRecord) -> None:
    """Merge a record of a run into another one (specification 2.1 to 2.6)."""
    _absorb_jobs(run.jobs, other.jobs)
    run.first = min(run.first, other.first)
    run.last = max(run.last, other.last)
    run.started = _present(min, run.started, other.started)
    run.ended = _present(max, run.ended, other.ended)
    run.terminal = max(run.terminal, other.terminal)
    run.opened = run.opened or other.opened
    absorb_facets(run.facets, other.facets)
    _absorb_side(run.inputs, other.inputs)
    _absorb_side(run.outputs, other.outputs)
    run.entries |= other.entries


def _present(choose: Callable[[Value, Value], Value], first: Value | None, second: Value | None) -> Value | None:
    """Return the chosen of two values, or the one that is present."""
    return first if second is None else second if first is None else choose(first, second)


def _absorb_jobs(jobs: dict[Key, Naming], more: dict[Key, Naming]) -> None:
    for key, other in more.items():
        known = jobs.get(key)
        if known is None:
            jobs[key] = Naming(other.time, other.rank, dict(other.facets), other.parent)
            continue
        known.time, known.rank = max((known.time, known.rank), (other.time, other.rank))
        absorb_facets(known.facets, other.facets)
        known.parent = _present(later, known.parent, other.parent)


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


# ---- jobs and datasets, over all their runs and events (specification 6.8, 2.8) ------------------------------------


def absorb_job(job: JobRecord, other: JobRecord) -> None:
    """Merge a record of a job into another one."""
    absorb_facets(job.facets, other.facets)
    job.parent = _present(later, job.parent, other.parent)


def absorb_dataset(dataset: DatasetRecord, other: DatasetRecord) -> None:
    """Merge a record of a dataset into another one."""
    absorb_facets(dataset.facets, other.facets)


def jobs_in(run: RunRecord) -> dict[Key, JobRecord]:
    """Return the records of the jobs that a run names: a job facet counts for the job that its own event names."""
    return {key: JobRecord(dict(naming.facets), naming.parent) for key, naming in run.jobs.items()}


def datasets_in(inputs: dict[Key, Listing], outputs: dict[Key, Listing]) -> dict[Key, DatasetRecord]:
    """Return the records of the datasets on two sides, from inputs and outputs alike."""
    datasets = {key: DatasetRecord(dict(listing.facets)) for key, listing in inputs.items()}
    for key, listing in outputs.items():
        absorb_facets(datasets.setdefault(key, DatasetRecord()).facets, listing.facets)
    return datasets


def sides_of(event: JobEvent) -> tuple[dict[Key, Listing], dict[Key, Listing]]:
    """Return the inputs and outputs of a JobEvent, which has the rank of OTHER (specification 2.1)."""
    return _side(event.inputs, event.time, OTHER), _side(event.outputs, event.time, OTHER)


def job_of(event: JobEvent) -> JobRecord:
    """Return the record of a job that has only this JobEvent."""
    return JobRecord(_instances(event.job_facets, event.time, OTHER))


def dataset_of(event: DatasetEvent) -> DatasetRecord:
    """Return the record of a dataset that has only this DatasetEvent."""
    return DatasetRecord(_instances(event.facets, event.time, OTHER))
