"""The state of one Spark application: which runs there are and which events tell them.

No JVM, no threads, no clock: signals come in, events go out through ``emit``.  A run is one root SQL execution (what it
starts inside itself belongs to it), one RDD action or one start of a streaming query; the application is their parent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from openlineage.client.uuid import generate_new_uuid

from ..datasets import facets
from ..datasets.names import snake_case
from ..datasets.tables import merged, with_commit
from ..extension.views import QueryExecution, StageInfo
from ..plan.model import Plan
from .events import Event, Subject, Teller
from .extraction import Extraction, Frame, Told
from .listener_events import Error, ExecutionEnded, ExecutionStarted, JobStarted, Metrics
from .plan_context import Knowledge
from .rdd_jobs import RddJobs
from .settings import Settings
from .statistics import with_statistics
from .streams import Streams

# A DELETE that turns out to need no rewriting of rows: its job is named without the table.
_BARE = frozenset({"delete_from_table"})
MOST_FRAMES = 100
"""So many checkpointed frames are remembered, the oldest are forgotten."""


@dataclass(slots=True)
class Run:
    """One SQL execution so far."""

    subject: Subject
    command: str
    started_at: int
    plan: Plan
    told: Told
    node: Callable[[int], Any] | None = None
    announced: bool = False
    happened: list[Any] = field(default_factory=list)
    stages: set[int] = field(default_factory=set)
    nested: dict[int, Told] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=list)


@dataclass(slots=True)
class Application:
    """The application's run and its child runs."""

    teller: Teller
    knowledge: Knowledge
    emit: Callable[[Event], None]
    streams: Streams
    rdd_jobs: RddJobs
    ended: bool = False
    _runs: dict[int, Run] = field(default_factory=dict)
    _roots: dict[int, int] = field(default_factory=dict)
    _frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=MOST_FRAMES))

    @classmethod
    def of(cls, settings: Settings, knowledge: Knowledge, emit: Callable[[Event], None]) -> Application:
        """A new application run."""
        teller = Teller(settings, str(generate_new_uuid()), snake_case(settings.app_name))
        streams = Streams(teller, knowledge, emit)
        return cls(teller, knowledge, emit, streams, RddJobs(teller, knowledge.extensions, emit))

    def start(self, at: int) -> None:
        """Tell that the application runs."""
        self.emit(self.teller.application("START", at, {}))

    def end(self, at: int, error: Error | None = None) -> None:
        """Tell how the application ended: once, whoever says it first."""
        if self.ended:
            return
        self.ended = True
        told = {} if error is None else {"errorMessage": facets.error_message(*error, language="PYTHON")}
        self.emit(self.teller.application("COMPLETE" if error is None else "FAIL", at, told))

    def execution_started(self, signal: ExecutionStarted) -> None:
        """Take a SQL execution: a run of its own, or a part of the run that it was started in."""
        if signal.plan is None or self.streams.execution(signal) or _is_inference(signal):
            return
        root = self._roots.get(signal.root)
        if root is not None:
            self._nested(signal, signal.plan, root)
            return
        extraction = self._extraction(signal.plan, signal.node)
        told = extraction.told()
        self._remember(signal, extraction)
        command = _command(signal.command)
        subject = Subject(str(generate_new_uuid()), self._job(command, told), sql=signal.plan.sql())
        run = Run(subject, command, signal.at, signal.plan, told, signal.node)
        if signal.plan.root is not None:
            run.happened.append(QueryExecution(signal.execution, extraction.known.view(signal.plan.root)))
        self._runs[signal.execution] = run
        self._roots[signal.execution] = signal.execution
        self._announce(run)

    def _extraction(self, plan: Plan, node: Callable[[int], Any] | None) -> Extraction:
        return Extraction(plan, self.knowledge.of(plan, node), tuple(self._frames))

    def _remember(self, signal: ExecutionStarted, extraction: Extraction) -> None:
        """A checkpoint cuts a frame's plan off: what it was made of is kept for the plans that start from it."""
        if "heckpoint" in signal.site.partition("\n")[0]:
            frame = extraction.frame()
            if frame is not None:
                self._frames.append(frame)

    def _nested(self, signal: ExecutionStarted, plan: Plan, root: int) -> None:
        self._roots[signal.execution] = root
        run = self._runs.get(root)
        if run is None or run.told.outputs:
            return
        run.nested[signal.execution] = self._extraction(plan, signal.node).told()
        if not run.announced:
            run.subject = replace(run.subject, job=self._job(run.command, _all(run)))
        self._announce(run)

    def _announce(self, run: Run) -> None:
        told = _all(run)
        if not run.announced and told:
            run.announced = True
            parts = self.knowledge.extensions.parts(run.happened, told.inputs, told.outputs)
            self.emit(self.teller.run(run.subject, "START", run.started_at, parts, _incomplete(told)))

    def job_started(self, signal: JobStarted) -> None:
        """Take a job: an RDD action, or a part of a SQL execution, whose builders want its RDDs."""
        if signal.execution is None:
            self.rdd_jobs.started(signal)
            return
        run = self._runs.get(self._roots.get(signal.execution, -1))
        if run is not None and not self.knowledge.extensions.own_only:
            run.stages |= set(signal.job.stage_ids)

    def stage_ended(self, info: StageInfo) -> None:
        """Take a stage's metrics to the run that it belongs to."""
        self.rdd_jobs.stage_ended(info)
        for run in self._runs.values():
            if info.stage_id in run.stages:
                run.happened.append(info)

    def execution_ended(self, signal: ExecutionEnded) -> None:
        """Take the end of a SQL execution; the run ends with its root."""
        root = self._roots.pop(signal.execution, None)
        run = None if root is None else self._runs.get(root)
        if run is None:
            return
        run.metrics.extend(signal.metrics)
        if signal.execution == root:
            del self._runs[root]
            self._finish(run, signal)

    def _finish(self, run: Run, signal: ExecutionEnded) -> None:
        told = _all(run)
        if not told:
            return
        self._announce(run)
        if signal.error is None:
            told = self._committed(self._again(run) if run.told.outputs else told, run.started_at, signal.at)
        parts = self.knowledge.extensions.parts(run.happened, told.inputs, told.outputs)
        parts = with_statistics(parts, told.scans, run.metrics)
        extra = _incomplete(told)
        if signal.error is not None:
            extra["errorMessage"] = facets.error_message(*signal.error)
        kind = "COMPLETE" if signal.error is None else "FAIL"
        self.emit(self.teller.run(run.subject, kind, signal.at, parts, extra))

    def _again(self, run: Run) -> Told:
        """What was told at the start, with what only the end knows: a table's schema after ALTER."""
        later = self._extraction(run.plan, run.node).told()
        known = {one.key for one in run.told.outputs}
        fresh = (one for one in later.outputs if one.key in known)
        return replace(run.told, outputs=merged((*run.told.outputs, *fresh)))

    def _committed(self, told: Told, first: int, last: int) -> Told:
        """The outputs with the versions that they have from this run, and what was counted of them."""
        outputs = tuple(with_commit(one, self.knowledge.catalog, first, last) for one in told.outputs)
        return replace(told, outputs=outputs)

    def _job(self, command: str, told: Told) -> str:
        suffix = "" if command in _BARE else told.suffix
        return ".".join(part for part in (self.teller.name, command, suffix) if part)


def _incomplete(told: Told) -> dict[str, facets.Facet]:
    return {} if told.missing is None else {"headwater_incomplete": facets.custom(reason=told.missing)}


def _all(run: Run) -> Told:
    if not run.nested:
        return run.told
    told = [run.told, *run.nested.values()]
    outputs = merged(d for one in told for d in one.outputs)
    suffix = next((one.suffix for one in told if one.suffix), "") if len(outputs) == 1 else ""
    scans = tuple(scan for one in told for scan in one.scans)
    return Told(merged(d for one in told for d in one.inputs), outputs, suffix, scans)


def _command(node_name: str) -> str:
    name = snake_case(node_name)
    # saveAsTable runs a CTAS inside itself: the official integration names the job after that one.
    return name.replace("save_as_v1_table_command", "create_data_source_table_as_select_command")


def _is_inference(signal: ExecutionStarted) -> bool:
    """Whether Spark itself looks into files to find a schema: the reader is lazy, so what runs inside it is that."""
    first = signal.site.lstrip().partition("\n")[0]
    if "DataFrameReader." in first or "DataStreamReader." in first or ".delta." in first:
        return True
    plan = signal.plan
    return "SparkSession.sql(" in first and plan is not None and plan.root is not None and not plan.commands()
