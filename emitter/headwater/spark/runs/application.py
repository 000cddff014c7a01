"""The state of one Spark application: its runs and their events.

No JVM, no threads, no clock: the input is listener events, the output goes to ``emit``.  A run is a root SQL execution
(with the executions that it starts), an RDD action or a start of a streaming query; the application is their parent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from openlineage.client.uuid import generate_new_uuid

from ..datasets import facets
from ..datasets.names import snake_case
from ..datasets.subsets import with_written_partitions
from ..datasets.table_writes import overwritten_table
from ..datasets.tables import merged, with_commit
from ..extension.loading import EventParts
from ..extension.registry import FacetRegistry, Registered
from ..extension.views import QueryExecution, StageInfo
from ..plan.model import Plan
from .events import Event, EventFactory, Subject
from .extraction import Extraction, Frame, PlanLineage
from .listener_events import Error, ExecutionEnded, ExecutionStarted, JobStarted, Metrics
from .plan_context import PlanReaders
from .rdd_jobs import RddJobs, details_of
from .settings import Settings
from .statistics import with_statistics
from .streams import Streams

# Commands whose job is named without the table: a DELETE that rewrites no rows.
_WITHOUT_SUFFIX = frozenset({"delete_from_table"})
MOST_FRAMES = 100
"""The most checkpointed frames that are retained; the oldest is dropped first."""


@dataclass(slots=True)
class ExecutionRun:
    """The state of a SQL execution; ``events`` are the arguments of builders, ``nested`` the executions that it started.

    ``details`` is the facet of its first job; ``is_replacing`` is whether the table that it creates replaces another.
    """

    subject: Subject
    command: str
    started_at: int
    plan: Plan
    lineage: PlanLineage
    node: Callable[[int], Any] | None = None
    started: bool = False
    events: list[Any] = field(default_factory=list)
    stages: set[int] = field(default_factory=set)
    nested: dict[int, PlanLineage] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=list)
    details: dict[str, facets.Facet] = field(default_factory=dict)
    is_replacing: bool = False


@dataclass(slots=True)
class Application:
    """The application's run and its child runs."""

    factory: EventFactory
    readers: PlanReaders
    emit: Callable[[Event], None]
    streams: Streams
    rdd_jobs: RddJobs
    ended: bool = False
    _runs: dict[int, ExecutionRun] = field(default_factory=dict)
    _roots: dict[int, int] = field(default_factory=dict)
    _frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=MOST_FRAMES))
    _dropped: tuple[str, str] | None = None

    @classmethod
    def of(
        cls,
        settings: Settings,
        readers: PlanReaders,
        emit: Callable[[Event], None],
        debug: Mapping[str, Any] | None = None,
    ) -> Application:
        """Return the state of a new application run; ``debug`` is the content of the facet of this name."""
        run = settings.application_run or str(generate_new_uuid())
        factory = EventFactory(settings, run, snake_case(settings.job_names.stable(settings.app_name)), debug)
        streams = Streams(factory, readers, emit)
        return cls(factory, readers, emit, streams, RddJobs(factory, readers.extensions, emit))

    def start(self, at: int) -> None:
        """Emit START of the application."""
        self.emit(self.factory.application("START", at, {}))

    def end(self, at: int, error: Error | None = None) -> None:
        """Emit ABORT of the runs without an end, then COMPLETE or FAIL of the application; only the first call has an effect."""
        if self.ended:
            return
        self.ended = True
        for run in self._runs.values():
            self._aborted(run, at, error)
        self.streams.abort(at, error)
        self.rdd_jobs.abort(at, error)
        extra = facets.error_message(error, language="PYTHON")
        self.emit(self.factory.application("COMPLETE" if error is None else "FAIL", at, extra))

    def _aborted(self, run: ExecutionRun, at: int, error: Error | None) -> None:
        lineage = _all(run)
        if run.started:
            parts = self._parts(run, lineage)
            extra = {**run.details, **lineage.incomplete(), **facets.error_message(error, language="PYTHON")}
            self.emit(self.factory.run(run.subject, "ABORT", at, parts, extra))

    def execution_started(self, signal: ExecutionStarted) -> None:
        """Process the start of a SQL execution: a new run, or a part of the run that started it."""
        if signal.plan is None or self.streams.execution(signal) or _is_inference(signal):
            return
        if signal.plan.root is not None and signal.plan.root.class_name in self.factory.settings.denied_nodes:
            return
        root = self._roots.get(signal.root)
        if root is not None:
            self._add_nested(signal, signal.plan, root)
            return
        registered = Registered.of(signal.tags)
        extraction = self._extraction(signal.plan, signal.node)
        with FacetRegistry.of(registered):
            lineage = extraction.lineage()
        self._store_checkpoint(signal, extraction)
        command, run_id = _command(signal.command), str(generate_new_uuid())
        subject = Subject(run_id, self._job(command, lineage), sql=signal.plan.sql(), registered=registered)
        run = ExecutionRun(subject, command, signal.at, signal.plan, lineage, signal.node)
        if signal.plan.root is not None:
            run.events.append(QueryExecution(signal.execution, extraction.context.view(signal.plan.root)))
        run.is_replacing = self._dropped is not None and _overwrites(run, *self._dropped)
        self._dropped = None
        self._runs[signal.execution] = run
        self._roots[signal.execution] = signal.execution
        self._start(run)

    def _extraction(self, plan: Plan, node: Callable[[int], Any] | None) -> Extraction:
        return Extraction(plan, self.readers.of(plan, node), tuple(self._frames))

    def _store_checkpoint(self, signal: ExecutionStarted, extraction: Extraction) -> None:
        """Retain the lineage of a checkpoint, whose readers' plans do not contain its plan."""
        if "heckpoint" in signal.site.partition("\n")[0]:
            frame = extraction.frame()
            if frame is not None:
                self._frames.append(frame)

    def _add_nested(self, signal: ExecutionStarted, plan: Plan, root: int) -> None:
        self._roots[signal.execution] = root
        run = self._runs.get(root)
        if run is None or run.lineage.outputs:
            return
        with FacetRegistry.of(run.subject.registered):
            run.nested[signal.execution] = self._extraction(plan, signal.node).lineage()
        if not run.started:
            run.subject = replace(run.subject, job=self._job(run.command, _all(run)))
        self._start(run)

    def _start(self, run: ExecutionRun, always: bool = False) -> None:
        lineage = _all(run)
        if run.started or not (lineage or always or not self.readers.extensions.own_only):
            return
        parts = self._parts(run, lineage)
        if lineage or always or parts.inputs or parts.outputs:
            run.started = True
            self.emit(self.factory.run(run.subject, "START", run.started_at, parts, lineage.incomplete()))

    def table_dropped(self, database: str, table: str) -> None:
        """Process the removal of a table: ``saveAsTable`` in mode overwrite drops the table before it creates it again.

        Before Spark 4.1 it does so before its execution starts.
        """
        self._dropped = None if self._roots else (database, table)
        for run in self._runs.values():
            run.is_replacing = run.is_replacing or _overwrites(run, database, table)

    def job_started(self, signal: JobStarted) -> None:
        """Process the start of a job: an RDD action, or a part of a SQL execution whose stages builders receive."""
        self.streams.job_started(signal)
        if signal.execution is None:
            if self.factory.settings.emits_rdd_jobs:
                self.rdd_jobs.started(signal)
            return
        run = self._runs.get(self._roots.get(signal.execution, -1))
        if run is not None and not run.details:
            run.details = details_of(signal)
        if run is not None and not self.readers.extensions.own_only:
            run.stages |= set(signal.job.stage_ids)
            run.events.extend((signal.job, signal.job.final_stage, *signal.job.final_stage.rdds))

    def stage_ended(self, info: StageInfo) -> None:
        """Add a stage's metrics to the run that it belongs to."""
        self.rdd_jobs.stage_ended(info)
        self.streams.stage_ended(info)
        for run in self._runs.values():
            if info.stage_id in run.stages:
                run.events.append(info)

    def execution_ended(self, signal: ExecutionEnded) -> None:
        """Process the end of a SQL execution; the run ends with its root execution."""
        self.streams.execution_ended(signal)
        root = self._roots.pop(signal.execution, None)
        run = None if root is None else self._runs.get(root)
        if run is None:
            return
        run.metrics.extend(signal.metrics)
        if signal.execution == root:
            del self._runs[root]
            self._finish(run, signal)

    def _finish(self, run: ExecutionRun, signal: ExecutionEnded) -> None:
        lineage = _all(run)
        self._start(run, always=signal.error is not None)
        if not run.started:
            return
        if signal.error is None:
            lineage = self._refreshed(run) if run.lineage.outputs else lineage
            lineage = _replacing(lineage) if run.is_replacing else lineage
            lineage = self._with_commits(lineage, run.started_at, signal.at)
        parts = self._parts(run, lineage)
        parts = with_statistics(parts, lineage.scans, run.metrics)
        extra = {**run.details, **lineage.incomplete(), **facets.error_message(signal.error)}
        kind = "COMPLETE" if signal.error is None else "FAIL"
        self.emit(self.factory.run(run.subject, kind, signal.at, parts, extra))

    def _parts(self, run: ExecutionRun, lineage: PlanLineage) -> EventParts:
        with FacetRegistry.of(run.subject.registered):
            return self.readers.extensions.parts(run.events, lineage.inputs, lineage.outputs)

    def _refreshed(self, run: ExecutionRun) -> PlanLineage:
        """Return the run's lineage with facets that are only known at its end: a table's schema after ALTER."""
        outputs = run.lineage.outputs
        known = {dataset.key for dataset in outputs}
        with FacetRegistry.of(run.subject.registered):
            later = self._extraction(run.plan, run.node).lineage().outputs
        return replace(run.lineage, outputs=merged((*outputs, *(d for d in later if d.key in known))))

    def _with_commits(self, lineage: PlanLineage, first: int, last: int) -> PlanLineage:
        """Return the lineage whose outputs have the versions, statistics and partitions of the run's commits."""
        catalog = self.readers.catalog
        committed = (with_commit(dataset, catalog, first, last) for dataset in lineage.outputs)
        outputs = tuple(with_written_partitions(dataset, catalog, first, last) for dataset in committed)
        return replace(lineage, outputs=outputs)

    def _job(self, command: str, lineage: PlanLineage) -> str:
        suffix = "" if command in _WITHOUT_SUFFIX else lineage.suffix
        return self.factory.job_name(command, suffix)


def _overwrites(run: ExecutionRun, database: str, table: str) -> bool:
    found = overwritten_table(run.plan)
    if found is None or (found[0] is not None and found[0].lower() != database.lower()):
        return False
    return found[1].lower() == table.lower()


def _replacing(lineage: PlanLineage) -> PlanLineage:
    change = facets.lifecycle("OVERWRITE")
    return replace(lineage, outputs=tuple(dataset.having(lifecycleStateChange=change) for dataset in lineage.outputs))


def _all(run: ExecutionRun) -> PlanLineage:
    """Return the lineage of a run, with that of the executions that it started."""
    if not run.nested:
        return run.lineage
    plans = [run.lineage, *run.nested.values()]
    outputs = merged(dataset for plan in plans for dataset in plan.outputs)
    suffix = next((plan.suffix for plan in plans if plan.suffix), "") if len(outputs) == 1 else ""
    scans = tuple(scan for plan in plans for scan in plan.scans)
    missing = "; ".join(dict.fromkeys(plan.missing for plan in plans if plan.missing is not None)) or None
    inputs = merged(dataset for plan in plans for dataset in plan.inputs)
    return PlanLineage(inputs, outputs, suffix, scans, missing, any(plan.unknown for plan in plans))


def _command(node_name: str) -> str:
    name = snake_case(node_name)
    # saveAsTable starts a CTAS, after which the official integration names the job.
    return name.replace("save_as_v1_table_command", "create_data_source_table_as_select_command")


def _is_inference(signal: ExecutionStarted) -> bool:
    """Return whether Spark reads files to infer a schema: readers are lazy, so executions inside them do only that."""
    first = signal.site.lstrip().partition("\n")[0]
    if "DataFrameReader." in first or "DataStreamReader." in first or ".delta." in first:
        return True
    plan = signal.plan
    return "SparkSession.sql(" in first and plan is not None and plan.root is not None and not plan.commands()
