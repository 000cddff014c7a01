"""Specification 4: the fold of a job's versioned runs and JobEvents, by moment, into versions.

======================================================  ====================================================================
the run (the first row that fits applies)               the result
======================================================  ====================================================================
no version so far                                       new: the run's sides and code; unknown if its lineage is
lineage known, sides differ                             new: the run's sides; its code, or the version's if it has none
known, the same, version not unknown; codes differ      new: the same sides, the run's code
lineage unknown; codes differ                           new: sides **copied**, the run's code, unknown
known and the same, but version unknown                 new: the run's sides, not unknown; its code or the version's
otherwise                                               belongs to the version, which takes the run's code if it has none
======================================================  ====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from headwater_avro.names import Key, job_event_version_id, job_version_id
from headwater_graph.model.values import JobVersion, Moment
from headwater_graph.rules.job_events import Reading


@dataclass(frozen=True, slots=True)
class FoldItem:
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
        """The id of the version that this item makes, if it makes one (specification 4.1, 4.4)."""
        if self.run_id is None:
            return job_event_version_id(self.job, self.moment[1])
        return job_version_id(self.job, self.run_id)


def as_of(version: JobVersion, moment: Moment) -> JobVersion:
    """Return a version as it is in the fold just before a moment: perhaps still without its code version."""
    if version.code_since is not None and version.code_since >= moment:
        return replace(version, code=None, code_since=None)
    return version


def as_retained(version: JobVersion) -> JobVersion:
    """Return a retained version as it was at the horizon: a later code version does not count (specification 10.5)."""
    return version if version.code_since == version.since else as_of(version, version.since)


def item_of(reading: Reading) -> FoldItem | None:
    """Return what a run or JobEvent is in the fold of its job, None for a run that is not versioned (specification 3.5, 4.4)."""
    if reading.moment is None:
        return None
    sides = reading.inputs, reading.outputs
    return FoldItem(reading.job, reading.moment, reading.id, *sides, reading.known, reading.failed, reading.code)


def step(current: JobVersion | None, item: FoldItem) -> JobVersion:
    """Return the version that an item belongs to: ``current``, perhaps with the item's code version, or a new one."""
    if current is None:
        return _new(item, item.inputs, item.outputs, item.code, unknown=not item.known)
    code_differs = item.code is not None and current.code is not None and item.code != current.code
    if not item.known:
        if code_differs:
            return _new(item, current.inputs, current.outputs, item.code, unknown=True)
        return _with_code_of(item, current)
    inputs, outputs = _sides(current, item)
    if (inputs, outputs) != (current.inputs, current.outputs) or current.unknown:
        return _new(item, inputs, outputs, item.code or current.code, unknown=False)
    if code_differs:
        return _new(item, inputs, outputs, item.code, unknown=False)
    return _with_code_of(item, current)


def _sides(current: JobVersion, item: FoldItem) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
    """Return the sides of an item; an empty side of a failed run is that of the version so far (specification 3.2)."""
    if not item.failed:
        return item.inputs, item.outputs
    return item.inputs or current.inputs, item.outputs or current.outputs


def _new(
    item: FoldItem, inputs: tuple[Key, ...], outputs: tuple[Key, ...], code: str | None, *, unknown: bool
) -> JobVersion:
    code_since = item.moment if code is not None else None
    return JobVersion(item.version_id, item.job, item.moment, item.run_id, inputs, outputs, unknown, code, code_since)


def _with_code_of(item: FoldItem, current: JobVersion) -> JobVersion:
    if item.code is None or current.code is not None:
        return current
    return replace(current, code=item.code, code_since=item.moment)
