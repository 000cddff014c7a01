"""The state of one Spark application: which runs there are and which events tell them.

No JVM, no threads, no clock: signals come in, events go out through ``emit``.  A run is one root SQL execution (what it
starts inside itself belongs to it), and the application is their parent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from openlineage.client.uuid import generate_new_uuid

from . import facets
from .extraction import Extraction, Told, merged
from .names import snake_case
from .plan import Plan
from .settings import Settings
from .tables import Catalog, Dataset, Reading

Event = dict[str, Any]
Metrics = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """A SQL execution began: ``root`` is the execution that it is part of, ``site`` where the job called Spark."""

    execution: int
    root: int
    at: int
    site: str
    command: str
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    """A SQL execution ended, with the error's message and stack if it failed."""

    execution: int
    at: int
    error: tuple[str, str | None] | None = None
    metrics: Metrics = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """One run so far."""

    id: str
    execution: int
    started_at: int
    command: str
    plan: Plan | None
    sql: str | None
    told: Told
    job: str
    announced: bool = False
    nested: dict[int, Told] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=list)


@dataclass(slots=True)
class Application:
    """The application run and its child runs."""

    settings: Settings
    catalog: Catalog
    emit: Callable[[Event], None]
    run_id: str = field(default_factory=lambda: str(generate_new_uuid()))
    ended: bool = False
    _runs: dict[int, Run] = field(default_factory=dict)
    _roots: dict[int, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return snake_case(self.settings.app_name)

    def start(self, at: int) -> None:
        """Tell that the application runs."""
        self.emit(self._application_event("START", at, {}))

    def end(self, at: int, error: tuple[str, str | None] | None = None) -> None:
        """Tell how the application ended: once, whoever says it first."""
        if self.ended:
            return
        self.ended = True
        told = {} if error is None else {"errorMessage": facets.error_message(*error, language="PYTHON")}
        self.emit(self._application_event("COMPLETE" if error is None else "FAIL", at, told))

    def execution_started(self, signal: ExecutionStarted) -> None:
        if signal.plan is None or _is_inference(signal):
            return
        if signal.root != signal.execution and signal.root in self._runs:
            self._nested(signal)
            return
        told = Extraction(Reading(signal.plan, self.catalog)).told()
        run = Run(
            id=str(generate_new_uuid()),
            execution=signal.execution,
            started_at=signal.at,
            command=_command(signal.command),
            plan=signal.plan,
            sql=signal.plan.sql(),
            told=told,
            job=self._job_name(_command(signal.command), told),
        )
        self._runs[signal.execution] = run
        self._roots[signal.execution] = signal.execution
        self._announce(run)

    def _nested(self, signal: ExecutionStarted) -> None:
        run = self._runs[signal.root]
        self._roots[signal.execution] = signal.root
        if run.told.outputs or signal.plan is None:
            return
        told = Extraction(Reading(signal.plan, self.catalog)).told()
        run.nested[signal.execution] = told
        if not run.announced:
            run.job = self._job_name(run.command, _all(run))
        self._announce(run)

    def _announce(self, run: Run) -> None:
        if not run.announced and _all(run):
            run.announced = True
            self.emit(self._run_event(run, "START", run.started_at, _all(run), {}))

    def execution_ended(self, signal: ExecutionEnded) -> None:
        root = self._roots.pop(signal.execution, None)
        run = None if root is None else self._runs.get(root)
        if run is None:
            return
        run.metrics.extend(signal.metrics)
        if signal.execution != run.execution:
            return
        del self._runs[run.execution]
        self._finish(run, signal)

    def _finish(self, run: Run, signal: ExecutionEnded) -> None:
        told = _all(run)
        if run.plan is not None and signal.error is None and run.told.outputs:
            told = self._again(run, run.plan)
        told = replace(told, outputs=tuple(_with_statistics(one, run.metrics) for one in told.outputs))
        if not told:
            return
        self._announce(run)
        extra = {} if signal.error is None else {"errorMessage": facets.error_message(*signal.error)}
        self.emit(self._run_event(run, "COMPLETE" if signal.error is None else "FAIL", signal.at, told, extra))

    def _again(self, run: Run, plan: Plan) -> Told:
        """What was told at the start, with what only the end knows (a table's schema after ALTER)."""
        later = Extraction(Reading(plan, self.catalog)).told()
        return replace(run.told, outputs=merged((*run.told.outputs, *later.outputs)))

    def _job_name(self, command: str, told: Told) -> str:
        return ".".join(part for part in (self.name, command, told.suffix) if part)

    def _application_event(self, kind: str, at: int, extra: dict[str, facets.Facet]) -> Event:
        run = {**self._engine(), **self.settings.parent_facet(), **extra}
        job = {"jobType": facets.job_type("NONE", "APPLICATION")}
        return _event(kind, at, self.run_id, run, self.settings.namespace, self.name, job)

    def _run_event(self, run: Run, kind: str, at: int, told: Told, extra: dict[str, facets.Facet]) -> Event:
        root = self.settings.root or (self.run_id, self.settings.namespace, self.name)
        parent = facets.parent(self.run_id, self.settings.namespace, self.name, root)
        job = {"jobType": facets.job_type("BATCH", "SQL_JOB")}
        if run.sql is not None:
            job["sql"] = facets.sql(run.sql)
        event = _event(
            kind, at, run.id, {**self._engine(), "parent": parent, **extra}, self.settings.namespace, run.job, job
        )
        event["inputs"] = [_entry(one, "inputFacets") for one in told.inputs]
        event["outputs"] = [_entry(one, "outputFacets") for one in told.outputs]
        return event

    def _engine(self) -> dict[str, facets.Facet]:
        return {"processing_engine": facets.processing_engine(self.settings.spark_version)}


def _all(run: Run) -> Told:
    told = [run.told, *run.nested.values()]
    outputs = merged(d for one in told for d in one.outputs)
    suffix = next((one.suffix for one in told if one.suffix), "") if len(outputs) == 1 else ""
    return Told(merged(d for one in told for d in one.inputs), outputs, suffix)


def _entry(dataset: Dataset, container: str) -> dict[str, Any]:
    entry = {"namespace": dataset.namespace, "name": dataset.name, "facets": dict(dataset.facets)}
    return {**entry, container: dict(dataset.run_facets)} if dataset.run_facets else entry


def _event(
    kind: str, at: int, run_id: str, run: dict[str, Any], namespace: str, name: str, job: dict[str, Any]
) -> Event:
    return {
        "eventType": kind,
        "eventTime": datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run": {"runId": run_id, "facets": run},
        "job": {"namespace": namespace, "name": name, "facets": job},
        "inputs": [],
        "outputs": [],
        "producer": facets.PRODUCER,
        "schemaURL": facets.EVENT_SCHEMA,
    }


def _command(node_name: str) -> str:
    name = snake_case(node_name)
    # saveAsTable runs a CTAS inside itself: the official integration names the job after that one.
    return name.replace("save_as_v1_table_command", "create_data_source_table_as_select_command")


def _is_inference(signal: ExecutionStarted) -> bool:
    """Whether Spark itself looks into files to find a schema: the reader is lazy, so what runs inside it is that."""
    first = signal.site.lstrip().partition("\n")[0]
    if "DataFrameReader." in first or "DataStreamReader." in first:
        return True
    root = None if signal.plan is None else signal.plan.root
    return "SparkSession.sql(" in first and root is not None and root.kind in {"GlobalLimit", "DeserializeToObject"}


def _with_statistics(output: Dataset, metrics: Metrics) -> Dataset:
    for one in metrics:
        if not one.get("leaf") and "numFiles" in one and "numOutputRows" in one:
            told = facets.output_statistics(one["numOutputRows"], one.get("numOutputBytes"), one["numFiles"])
            return replace(output, run_facets={**output.run_facets, "outputStatistics": told})
    return output
