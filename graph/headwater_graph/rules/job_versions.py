"""Specification 4: the fold of a job's versioned runs and JobEvents, by moment, into versions.

======================================================  ====================================================================
the run (first row that fits)                           then
======================================================  ====================================================================
no version so far                                       new: the run's sides and code; unknown if its lineage is
lineage known, sides differ                             new: the run's sides; code the run's, or the version's if absent
known, the same, version not unknown; codes differ      new: the same sides, the run's code
lineage unknown; codes differ                           new: sides **copied**, the run's code, unknown
known and the same, but version unknown                 new: the run's sides, not unknown; code the run's or the version's
otherwise                                               belongs to the version, which takes the run's code if it has none
======================================================  ====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater_avro.events import JobEvent
from headwater_avro.names import Key, job_event_version_id, job_version_id
from headwater_graph.model.values import JobVersion, Moment
from headwater_graph.rules import facets as read
from headwater_graph.rules.merge import job_of, sides_of
from headwater_graph.rules.runs import Run


@dataclass(frozen=True, slots=True)
class Item:
    """What takes part in a job's fold: a versioned run, or a JobEvent (``run_id`` None, specification 4.4)."""

    job: Key
    moment: Moment
    run_id: str | None
    inputs: tuple[Key, ...]
    outputs: tuple[Key, ...]
    known: bool
    failed: bool
    code: str | None

    @property
    def version_id(self) -> str:
        """The id of the version that this item makes, should it make one (specification 4.1, 4.4)."""
        if self.run_id is None:
            return job_event_version_id(self.job, self.moment[1])
        return job_version_id(self.job, self.run_id)


def as_of(version: JobVersion, moment: Moment) -> JobVersion:
    """Return a version as the fold saw it just before a moment: perhaps still without its code version."""
    if version.code_since is not None and version.code_since >= moment:
        return replace(version, code=None, code_since=None)
    return version


def as_retained(version: JobVersion) -> JobVersion:
    """Return a kept version as it was at the horizon: what code version it had then, it has from its beginning (specification 7)."""
    return version if version.code_since == version.since else as_of(version, version.since)


def item_of_run(run: Run) -> Item | None:
    """Return a run's part in the fold of its job, None while it is not versioned (specification 3.5)."""
    if run.moment is None:
        return None
    return Item(run.job, run.moment, run.id, run.inputs, run.outputs, run.known, run.failed, run.code)


def item_of_event(event: JobEvent) -> Item:
    """Return a JobEvent's part in the fold; one that retires the job knows its lineage: none (specification 3.6, 4.4)."""
    job_facets = job_of(event).facets
    inputs, outputs = sides_of(event)
    retired = read.is_retired(job_facets)
    return Item(
        job=event.job,
        moment=(event.time, event.text),
        run_id=None,
        inputs=() if retired else tuple(sorted(inputs)),
        outputs=() if retired else tuple(sorted(outputs)),
        known=retired or bool(inputs or outputs),
        failed=False,
        code=read.code_version(job_facets),
    )


def step(current: JobVersion | None, item: Item) -> JobVersion:
    """Return the version that an item belongs to: ``current`` (perhaps with a code version now), or a new one."""
    if current is None:
        return _new(item, item.inputs, item.outputs, item.code, unknown=not item.known)
    code_differs = item.code is not None and current.code is not None and item.code != current.code
    if not item.known:
        if code_differs:
            return _new(item, current.inputs, current.outputs, item.code, unknown=True)
        return _taking_code(current, item)
    inputs, outputs = _told_sides(current, item)
    if (inputs, outputs) != (current.inputs, current.outputs) or current.unknown:
        return _new(item, inputs, outputs, item.code or current.code, unknown=False)
    if code_differs:
        return _new(item, inputs, outputs, item.code, unknown=False)
    return _taking_code(current, item)


def _told_sides(current: JobVersion, item: Item) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
    """Specification 3.2: in a run that ends FAIL or ABORT an empty side is unknown, and taken from the version so far."""
    if not item.failed:
        return item.inputs, item.outputs
    return item.inputs or current.inputs, item.outputs or current.outputs


def _new(
    item: Item, inputs: tuple[Key, ...], outputs: tuple[Key, ...], code: str | None, *, unknown: bool
) -> JobVersion:
    code_since = item.moment if code is not None else None
    return JobVersion(item.version_id, item.job, item.moment, item.run_id, inputs, outputs, unknown, code, code_since)


def _taking_code(current: JobVersion, item: Item) -> JobVersion:
    if item.code is None or current.code is not None:
        return current
    return replace(current, code=item.code, code_since=item.moment)
