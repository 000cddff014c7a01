"""The rows and bytes of a streaming query since its start, and their statistics facets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..datasets import facets
from ..datasets.names import DatasetName
from ..datasets.tables import Dataset
from ..extension.loading import EventParts
from ..extension.views import StageInfo
from .listener_events import Metrics
from .statistics import written_counters


@dataclass(slots=True)
class StreamTotals:
    """Sums over the micro-batches of a query.

    Spark counts the rows that a batch reads, and for some sinks those that it writes; the rows and bytes that other sinks
    write are counters of the stages, those of a foreachBatch counters of its own executions.
    """

    rows_read: int = 0
    bytes_read: int = 0
    rows_written: int = 0
    stage_rows: int = 0
    bytes_written: int = 0
    batches: int = 0
    writes: dict[DatasetName, tuple[int, int, int]] = field(default_factory=dict)

    def add_batch(self, rows_read: int, rows_written: int | None) -> None:
        """Add the rows that a micro-batch read and wrote."""
        self.batches += 1
        self.rows_read += rows_read
        self.rows_written += rows_written or 0

    def add_stage(self, info: StageInfo) -> None:
        """Add the counters of a stage."""
        self.bytes_read += info.bytes_read
        self.stage_rows += info.records_written
        self.bytes_written += info.bytes_written

    def add_write(self, output: DatasetName, metrics: Metrics) -> None:
        """Add the counters of an execution that wrote ``output``."""
        found = written_counters(metrics)
        if found is not None:
            rows, size, files = self.writes.get(output, (0, 0, 0))
            self.writes[output] = (rows + (found[0] or 0), size + (found[1] or 0), files + (found[2] or 0))

    def added_to(self, parts: EventParts) -> EventParts:
        """Return the parts of an event with the statistics so far."""
        if not self.batches and not self.writes:
            return parts
        inputs = tuple(self._input(dataset) for dataset in parts.inputs) if len(parts.inputs) == 1 else parts.inputs
        return replace(parts, inputs=inputs, outputs=tuple(self._output(d, len(parts.outputs)) for d in parts.outputs))

    def _input(self, dataset: Dataset) -> Dataset:
        statistics = facets.input_statistics(self.rows_read, self.bytes_read or None, None)
        return dataset.having_run_facet("inputStatistics", statistics)

    def _output(self, dataset: Dataset, outputs: int) -> Dataset:
        counted = self.writes.get(dataset.key)
        if counted is None and (outputs != 1 or self.writes):
            return dataset
        own = (self.rows_written or self.stage_rows, self.bytes_written or None, None)
        statistics = facets.output_statistics(*(own if counted is None else counted))
        return dataset.having_run_facet("outputStatistics", statistics)
