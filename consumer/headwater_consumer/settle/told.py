"""Rows of joined records to what a batch tells (DESIGN 2, step 2: the join over partitions)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headwater_avro.events import DatasetEvent, JobEvent
from headwater_avro.json_codec import read_event
from headwater_consumer.rules.coalesce import Row
from headwater_consumer.rules.horizon import Beyond, older_than
from headwater_consumer.rules.join import absorb_run
from headwater_graph.records import RunRecord, unpack


@dataclass(slots=True)
class Told:
    """What a batch tells: partial records of runs by runId, and whole events by their canonical JSON."""

    runs: dict[str, RunRecord] = field(default_factory=dict)
    job_events: dict[str, JobEvent] = field(default_factory=dict)
    dataset_events: dict[str, DatasetEvent] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Join one row; a run told by several partitions becomes one."""
        kind, key, payload, _ = row
        if kind == "run":
            self._add_run(key.decode(), unpack(payload, RunRecord))
            return
        event = read_event(payload)
        if isinstance(event, JobEvent):
            self.job_events[event.text] = event
        elif isinstance(event, DatasetEvent):
            self.dataset_events[event.text] = event

    def without_events_before(self, horizon: int | None) -> list[Beyond]:
        """Take out the events of no run that are older than the horizon; returns them (SPEC 7)."""
        if horizon is None:
            return []
        old_jobs = [text for text, event in self.job_events.items() if event.time < horizon]
        old_datasets = [text for text, event_ in self.dataset_events.items() if event_.time < horizon]
        for text in old_jobs:
            del self.job_events[text]
        for text in old_datasets:
            del self.dataset_events[text]
        detail = older_than(horizon)
        return [Beyond("job_event", text, detail) for text in old_jobs] + [
            Beyond("dataset_event", text, detail) for text in old_datasets
        ]

    def _add_run(self, run_id: str, record: RunRecord) -> None:
        known = self.runs.get(run_id)
        if known is None:
            self.runs[run_id] = record
        else:
            absorb_run(known, record)


def told(rows: Iterable[Row]) -> Told:
    """Return what rows tell together."""
    all_told = Told()
    for row in rows:
        all_told.add(row)
    return all_told


def portions(rows: Iterable[Row], max_rows: int, max_bytes: int) -> Iterator[list[Row]]:
    """Yield rows in portions for one transaction each; a row alone may exceed the bytes."""
    portion: list[Row] = []
    size = 0
    for row in rows:
        if portion and (len(portion) >= max_rows or size + len(row[2]) > max_bytes):
            yield portion
            portion, size = [], 0
        portion.append(row)
        size += len(row[2])
    if portion:
        yield portion
