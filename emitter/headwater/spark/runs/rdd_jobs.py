"""RDD actions: jobs that no SQL execution started; each is a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openlineage.client.uuid import generate_new_uuid

from ..datasets import facets
from ..datasets.names import snake_case
from ..extension.loading import EventParts, Extensions
from ..extension.registry import FacetRegistry, Registered
from ..extension.views import ActiveJob, StageInfo
from .events import Event, EventFactory, Subject
from .listener_events import Error, JobEnded, JobStarted

LONGEST_NAME = 100
"""The most characters of an RDD job's name, which consists of the kinds of its RDDs."""


@dataclass(slots=True)
class RddRun:
    """The state of an RDD action; ``events`` are the arguments of builders, ``started`` is whether its START was emitted.

    An action without datasets is a run only if it fails.
    """

    subject: Subject
    events: list[Any]
    at: int
    details: dict[str, facets.Facet] = field(default_factory=dict)
    started: bool = False


@dataclass(slots=True)
class RddJobs:
    """The running RDD actions, whose inputs and outputs come from builders only."""

    factory: EventFactory
    extensions: Extensions
    emit: Callable[[Event], None]
    _running: dict[int, RddRun] = field(default_factory=dict)

    def started(self, signal: JobStarted) -> None:
        """Emit START of a job that reads or writes files; schema inference by Spark itself is ignored."""
        job = signal.job
        if _is_inference(job.call_site):
            return
        events: list[Any] = [job, job.final_stage, *job.final_stage.rdds]
        name, registered = self.factory.job_name(_name(job)), Registered.of(signal.tags)
        subject = Subject(str(generate_new_uuid()), name, kind="RDD_JOB", registered=registered)
        run = RddRun(subject, events, signal.at, details_of(signal))
        self._running[job.job_id] = run
        parts = self._parts(run)
        if parts.inputs or parts.outputs:
            self._start(run)

    def _parts(self, run: RddRun) -> EventParts:
        with FacetRegistry.of(run.subject.registered):
            return self.extensions.parts(run.events)

    def _start(self, run: RddRun) -> None:
        if not run.started:
            run.started = True
            self.emit(self.factory.run(run.subject, "START", run.at, self._parts(run), run.details))

    def any(self) -> bool:
        """Return whether any RDD action runs."""
        return bool(self._running)

    def stage_ended(self, info: StageInfo) -> None:
        """Add a stage's metrics to its job."""
        for run in self._running.values():
            if info.stage_id in run.events[0].stage_ids:
                run.events.append(info)

    def ended(self, signal: JobEnded) -> None:
        """Emit COMPLETE or FAIL."""
        run = self._running.pop(signal.job, None)
        if run is None or not (run.started or signal.error is not None):
            return
        self._start(run)
        extra = {**run.details, **facets.error_message(signal.error)}
        kind = "COMPLETE" if signal.error is None else "FAIL"
        self.emit(self.factory.run(run.subject, kind, signal.at, self._parts(run), extra))

    def abort(self, at: int, error: Error | None) -> None:
        """Emit ABORT of the actions without an end."""
        extra = facets.error_message(error, language="PYTHON")
        for run in self._running.values():
            if run.started:
                self.emit(self.factory.run(run.subject, "ABORT", at, self._parts(run), {**run.details, **extra}))


def details_of(signal: JobStarted) -> dict[str, facets.Facet]:
    """Return the facet with what the program and Spark say of a job."""
    return facets.job_details(signal.job.job_id, signal.group, signal.description, signal.call)


def _name(job: ActiveJob) -> str:
    """Return the job's name: the kinds of its RDDs, from the last to the first."""
    return snake_case(job.kinds)[:LONGEST_NAME].rstrip("_")


def _is_inference(site: str) -> bool:
    first = site.lstrip().partition("\n")[0]
    return any(call in first for call in ("DataFrameReader.", "DataStreamReader.", "SparkSession.sql(", ".delta."))
