"""Streaming queries: each start of a query is one run, with any number of micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..datasets import facets
from ..datasets.catalog_tables import kafka, of_identifier, options_of
from ..datasets.connectors import unknown_sink
from ..datasets.names import DatasetName, job_suffix
from ..datasets.systems import known_tables, texts
from ..datasets.tables import Catalog, Dataset, at_location, merged, of_table
from ..extension.registry import FacetRegistry, Registered
from ..extension.views import StageInfo
from ..plan.model import Fields, schema_fields
from .events import Event, EventFactory, Subject
from .extraction import Extraction, Frame, PlanLineage
from .listener_events import (
    Error,
    ExecutionEnded,
    ExecutionStarted,
    JobStarted,
    StreamEnded,
    StreamProgressed,
    StreamStarted,
)
from .plan_context import PlanReaders
from .stream_totals import StreamTotals

RUNNING_EVERY_MS = 60_000
"""The least time between two RUNNING events of a query."""


@dataclass(slots=True)
class Stream:
    """The state of a streaming query's run; ``frame`` is the query's result, which foreachBatch receives.

    ``batches`` has the output of each running execution of a foreachBatch, ``stages`` the stages of the query's jobs.
    """

    subject: Subject
    lineage: PlanLineage
    frame: Frame | None
    last_event_at: int
    batches: dict[int, DatasetName] = field(default_factory=dict)
    stages: set[int] = field(default_factory=set)
    totals: StreamTotals = field(default_factory=StreamTotals)


@dataclass(slots=True)
class Streams:
    """The running streaming queries."""

    factory: EventFactory
    readers: PlanReaders
    emit: Callable[[Event], None]
    _running: dict[str, Stream] = field(default_factory=dict)

    def started(self, signal: StreamStarted) -> None:
        """Emit a query's START."""
        lineage, frame, registered = PlanLineage(), None, Registered.of(signal.tags)
        if signal.plan is not None:
            extraction = Extraction(signal.plan, self.readers.of(signal.plan))
            with FacetRegistry.of(registered):
                lineage, frame = _lineage(extraction, signal), extraction.frame()
        name = self.factory.job_name(signal.name or "streaming_query", "" if signal.name else lineage.suffix)
        subject = Subject(signal.run, name, processing="STREAMING", registered=registered)
        self._running[signal.run] = Stream(subject, lineage, frame, signal.at)
        self._emit(self._running[signal.run], "START", signal.at, {})

    def execution(self, signal: ExecutionStarted) -> bool:
        """Add what a micro-batch writes; return whether the execution belongs to a running query."""
        stream = self._running.get(signal.stream or "")
        if stream is None:
            return False
        stream.subject.registered.add_tags(signal.tags)
        if signal.plan is None or signal.plan.root is None or not signal.plan.root.command:
            return True  # the micro-batch itself, whose lineage is that of its query
        frames = [] if stream.frame is None else [stream.frame]
        with FacetRegistry.of(stream.subject.registered):
            batch = Extraction(signal.plan, self.readers.of(signal.plan, signal.node), frames).lineage()
        if len(batch.outputs) == 1:
            stream.batches[signal.execution] = batch.outputs[0].key
        known = stream.lineage
        if batch.outputs and not {d.key for d in batch.outputs} <= {d.key for d in known.outputs}:
            inputs, outputs = (*known.inputs, *batch.inputs), (*known.outputs, *batch.outputs)
            stream.lineage = replace(known, inputs=merged(inputs), outputs=merged(outputs))
            self._emit(stream, "RUNNING", signal.at, {})
        return True

    def progressed(self, signal: StreamProgressed) -> None:
        """Emit RUNNING, at most once in ``RUNNING_EVERY_MS``."""
        stream = self._running.get(signal.run)
        if stream is not None:
            stream.totals.add_batch(signal.rows_read, signal.rows_written)
        if stream is not None and signal.at - stream.last_event_at >= RUNNING_EVERY_MS:
            self._emit(stream, "RUNNING", signal.at, {})

    def any(self) -> bool:
        """Return whether any query runs."""
        return bool(self._running)

    def job_started(self, signal: JobStarted) -> None:
        """Add the stages of a job to the query whose group it is in."""
        stream = self._running.get(signal.group)
        if stream is not None:
            stream.stages |= set(signal.job.stage_ids)

    def stage_ended(self, info: StageInfo) -> None:
        """Add a stage's counters to its query."""
        for stream in self._running.values():
            if info.stage_id in stream.stages:
                stream.stages.discard(info.stage_id)
                stream.totals.add_stage(info)

    def execution_ended(self, signal: ExecutionEnded) -> None:
        """Add the counters of what a foreachBatch wrote."""
        for stream in self._running.values():
            output = stream.batches.pop(signal.execution, None)
            if output is not None:
                stream.totals.add_write(output, signal.metrics)

    def abort(self, at: int, error: Error | None) -> None:
        """Emit ABORT of the queries without an end."""
        for stream in self._running.values():
            self._emit(stream, "ABORT", at, facets.error_message(error, language="PYTHON"))

    def ended(self, signal: StreamEnded) -> None:
        """Emit COMPLETE or FAIL."""
        stream = self._running.pop(signal.run, None)
        if stream is not None:
            extra = facets.error_message(signal.error)
            self._emit(stream, "COMPLETE" if signal.error is None else "FAIL", signal.at, extra)

    def _emit(self, stream: Stream, kind: str, at: int, extra: dict[str, facets.Facet]) -> None:
        stream.last_event_at = at
        with FacetRegistry.of(stream.subject.registered):
            parts = self.readers.extensions.parts((), stream.lineage.inputs, stream.lineage.outputs)
        parts = stream.totals.added_to(parts) if kind != "START" else parts
        self.emit(self.factory.run(stream.subject, kind, at, parts, {**stream.lineage.incomplete(), **extra}))


def _lineage(extraction: Extraction, signal: StreamStarted) -> PlanLineage:
    read = extraction.lineage()
    root = extraction.plan.root
    fields = [] if root is None else schema_fields(root.output)
    table = _table(extraction.catalog, signal, fields)
    found, sink = _sink(extraction.catalog, signal, fields) if table is None else [table], None
    if not found:
        sink = unknown_sink(signal.sink, signal.options, fields)
        found = [] if sink is None else list(sink.datasets)
    outputs = [extraction.with_query_columns(dataset) for dataset in found]
    suffix = job_suffix(outputs[0].key, None) if len(outputs) == 1 else ""
    reasons = [read.missing, None if sink is None else sink.reason]
    missing = "; ".join(dict.fromkeys(reason for reason in reasons if reason is not None)) or None
    return replace(read, outputs=tuple(outputs), suffix=suffix, missing=missing)


def _table(catalog: Catalog, signal: StreamStarted, fields: Fields) -> Dataset | None:
    """Return the table that a query writes into (``toTable``), or None."""
    held = signal.table
    if "table" in held:
        return of_table(held["table"], catalog, fields)
    return of_identifier(catalog, held.get("catalog"), held["identifier"], fields) if "identifier" in held else None


def _sink(catalog: Catalog, signal: StreamStarted, fields: Fields) -> list[Dataset]:
    """Return the datasets of a query's sink; those of foreach and foreachBatch follow from their own executions."""
    kind = str(signal.sink.get("class", "")).rpartition(".")[2]
    named = known_tables(catalog, str(signal.sink.get("class", "")), texts(signal.options), fields, writes=True)
    if named:
        return named[:1]
    options = options_of(signal.options)
    if kind.startswith("Kafka"):
        return kafka({k: v for k, v in options.items() if k in {"topic", "kafka.bootstrap.servers"}}, fields)
    if kind == "MemorySink" and signal.name:
        return [Dataset("inmemory://", signal.name).having(schema=facets.schema(fields))]
    properties = signal.sink.get("properties")
    location = signal.sink.get("path") or (properties or {}).get("location") or options.get("path")
    if location and not kind.startswith(("ForeachBatch", "ForeachWriter", "Console")):
        return [at_location(str(location), fields)]
    return []
