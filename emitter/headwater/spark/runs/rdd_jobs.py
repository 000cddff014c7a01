"""RDD actions: jobs that no SQL execution started, one run each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openlineage.client.uuid import generate_new_uuid

from ..datasets import facets
from ..datasets.names import snake_case
from ..extension.loading import Extensions
from ..extension.views import ActiveJob, StageInfo
from .events import Event, Subject, Teller
from .listener_events import JobEnded, JobStarted

LONGEST_NAME = 100
"""An RDD job is named after its RDDs, no further than this."""


@dataclass(slots=True)
class RddRun:
    """One RDD action so far, with all that happened in it."""

    subject: Subject
    happened: list[Any]


@dataclass(slots=True)
class RddJobs:
    """The RDD actions that run; what they read and write is told by builders alone."""

    teller: Teller
    extensions: Extensions
    emit: Callable[[Event], None]
    _running: dict[int, RddRun] = field(default_factory=dict)

    def started(self, signal: JobStarted) -> None:
        """Tell START of a job that reads or writes files; Spark's own look into files for a schema is none."""
        job = signal.job
        happened: list[Any] = [job, job.final_stage, *job.final_stage.rdds]
        parts = self.extensions.parts(happened)
        if _is_inference(job.call_site) or not (parts.inputs or parts.outputs):
            return
        subject = Subject(str(generate_new_uuid()), f"{self.teller.name}.{_name(job)}", kind="RDD_JOB")
        self._running[job.job_id] = RddRun(subject, happened)
        self.emit(self.teller.run(subject, "START", signal.at, parts, {}))

    def any(self) -> bool:
        """Whether any RDD action runs."""
        return bool(self._running)

    def stage_ended(self, info: StageInfo) -> None:
        """Take a stage's metrics to its job."""
        for run in self._running.values():
            if info.stage_id in run.happened[0].stage_ids:
                run.happened.append(info)

    def ended(self, signal: JobEnded) -> None:
        """Tell COMPLETE or FAIL."""
        run = self._running.pop(signal.job, None)
        if run is None:
            return
        extra = {} if signal.error is None else {"errorMessage": facets.error_message(*signal.error)}
        kind = "COMPLETE" if signal.error is None else "FAIL"
        self.emit(self.teller.run(run.subject, kind, signal.at, self.extensions.parts(run.happened), extra))


def _name(job: ActiveJob) -> str:
    """The kinds of its RDDs, from the last to the first."""
    return snake_case(job.kinds)[:LONGEST_NAME].rstrip("_")


def _is_inference(site: str) -> bool:
    first = site.lstrip().partition("\n")[0]
    return any(mark in first for mark in ("DataFrameReader.", "DataStreamReader.", "SparkSession.sql(", ".delta."))
