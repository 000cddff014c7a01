"""Streaming queries: one run per start of a query, however many micro-batches it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..datasets import facets
from ..datasets.catalog_tables import kafka
from ..datasets.names import job_suffix
from ..datasets.tables import Dataset, at_location, merged
from ..plan.model import schema_fields
from .events import Event, Subject, Teller
from .extraction import Extraction, Frame, Told
from .listener_events import ExecutionStarted, StreamEnded, StreamProgressed, StreamStarted
from .plan_context import Knowledge

RUNNING_EVERY_MS = 60_000
"""A query that goes on says so once in this time."""


@dataclass(slots=True)
class Stream:
    """One streaming query's run so far; ``frame`` is the query's result, which foreachBatch hands on."""

    subject: Subject
    told: Told
    frame: Frame | None
    last_told_at: int


@dataclass(slots=True)
class Streams:
    """All streaming queries that run."""

    teller: Teller
    knowledge: Knowledge
    emit: Callable[[Event], None]
    _running: dict[str, Stream] = field(default_factory=dict)

    def started(self, signal: StreamStarted) -> None:
        """Tell a query's START."""
        told, frame = Told(), None
        if signal.plan is not None:
            extraction = Extraction(signal.plan, self.knowledge.of(signal.plan))
            told, frame = _told(extraction, signal), extraction.frame()
        suffix = signal.name or f"streaming_query.{told.suffix}".rstrip(".")
        subject = Subject(signal.run, f"{self.teller.name}.{suffix}", processing="STREAMING")
        self._running[signal.run] = Stream(subject, told, frame, signal.at)
        self._tell(self._running[signal.run], "START", signal.at, {})

    def execution(self, signal: ExecutionStarted) -> bool:
        """Take what a micro-batch does; whether the execution belongs to a query that is known."""
        stream = self._running.get(signal.stream or "")
        if stream is None:
            return False
        if signal.plan is None or signal.plan.root is None or not signal.plan.root.command:
            return True  # the micro-batch itself: its query has been told
        frames = [] if stream.frame is None else [stream.frame]
        batch = Extraction(signal.plan, self.knowledge.of(signal.plan, signal.node), frames).told()
        if batch.outputs and not {one.key for one in batch.outputs} <= {one.key for one in stream.told.outputs}:
            stream.told = replace(
                stream.told,
                inputs=merged((*stream.told.inputs, *batch.inputs)),
                outputs=merged((*stream.told.outputs, *batch.outputs)),
            )
            self._tell(stream, "RUNNING", signal.at, {})
        return True

    def progressed(self, signal: StreamProgressed) -> None:
        """Tell RUNNING, throttled."""
        stream = self._running.get(signal.run)
        if stream is not None and signal.at - stream.last_told_at >= RUNNING_EVERY_MS:
            self._tell(stream, "RUNNING", signal.at, {})

    def ended(self, signal: StreamEnded) -> None:
        """Tell COMPLETE or FAIL."""
        stream = self._running.pop(signal.run, None)
        if stream is not None:
            extra = {} if signal.error is None else {"errorMessage": facets.error_message(*signal.error)}
            self._tell(stream, "COMPLETE" if signal.error is None else "FAIL", signal.at, extra)

    def _tell(self, stream: Stream, kind: str, at: int, extra: dict[str, facets.Facet]) -> None:
        stream.last_told_at = at
        parts = self.knowledge.extensions.parts((), stream.told.inputs, stream.told.outputs)
        self.emit(self.teller.run(stream.subject, kind, at, parts, extra))


def _told(extraction: Extraction, signal: StreamStarted) -> Told:
    inputs = extraction.told().inputs
    root = extraction.plan.root
    fields = [] if root is None else schema_fields(root.output)
    outputs = [extraction.with_query_columns(one) for one in _sink(signal, fields)]
    suffix = job_suffix(outputs[0].key, None) if len(outputs) == 1 else ""
    return Told(inputs, tuple(outputs), suffix)


def _sink(signal: StreamStarted, fields: list[dict[str, Any]]) -> list[Dataset]:
    """Where a query writes; foreach and foreachBatch are only known from what they do."""
    kind = str(signal.sink.get("class", "")).rpartition(".")[2]
    options = {str(k).lower(): str(v) for k, v in signal.options.items() if not isinstance(v, Mapping)}
    if kind.startswith("Kafka"):
        return kafka({k: v for k, v in options.items() if k in {"topic", "kafka.bootstrap.servers"}}, fields)
    if kind == "MemorySink" and signal.name:
        return [Dataset("inmemory://", signal.name).having(schema=facets.schema(fields))]
    properties = signal.sink.get("properties")
    location = signal.sink.get("path") or (properties or {}).get("location") or options.get("path")
    if location and not kind.startswith(("ForeachBatch", "ForeachWriter", "Console")):
        return [at_location(str(location), fields)]
    return []
