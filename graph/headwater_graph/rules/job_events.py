"""What a JobEvent states (specification 3.6, 4.4, 6.5, 6.6): read once, as a value that the fold and the current graph use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headwater_avro.events import JobEvent
from headwater_avro.names import Key
from headwater_graph.model.values import Moment
from headwater_graph.rules import facets as read
from headwater_graph.rules.merge import job_of, sides_of
from headwater_graph.rules.runs import RunReading, column_facets


@dataclass(frozen=True, slots=True)
class JobEventReading:
    """What a JobEvent states; the second part of ``moment`` is its canonical JSON. The members are as those of a run."""

    job: Key
    moment: Moment
    inputs: tuple[Key, ...]
    outputs: tuple[Key, ...]
    known: bool
    code: str | None
    entries: frozenset[str]
    columns: dict[Key, bytes]
    id: None = None
    failed: bool = False


Reading: TypeAlias = RunReading | JobEventReading
"""What a run or a JobEvent states; a JobEvent has no ``id`` and counts as a run that did not fail (specification 4.4, 6.5)."""


def read_job_event(event: JobEvent) -> JobEventReading:
    """Return what a JobEvent states; one that retires the job has a known lineage without datasets (specification 3.6)."""
    job_facets = job_of(event).facets
    retired = read.is_retired(job_facets)
    inputs, outputs = ({}, {}) if retired else sides_of(event)
    entries = () if retired else read.lineage_entries(event.job_facets.get("lineage"))
    return JobEventReading(
        job=event.job,
        moment=(event.time, event.text),
        inputs=tuple(sorted(inputs)),
        outputs=tuple(sorted(outputs)),
        known=retired or bool(inputs or outputs),
        code=read.code_version(job_facets),
        entries=frozenset(entries),
        columns=column_facets(outputs),
    )
