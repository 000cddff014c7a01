"""Rows of joined records to what a batch tells (specification 11)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from headwater_avro.events import DatasetEvent, JobEvent
from headwater_avro.json_codec import read_event
from headwater_graph.apply.run_changes import NamedEntities, RunChange, change_to, named_by
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.rules.coalesce import Row
from headwater_graph.rules.horizon import Beyond, older_than
from headwater_graph.rules.merge import absorb_run


@dataclass(slots=True)
class Told:
    """What a batch tells: partial records of runs by runId, and whole events by their canonical JSON.

    What follows from these alone is worked out here, before anything stored is asked for: ``changes`` are the runs as if
    nothing were known of them, ``named`` what is told of jobs and datasets. ``packed`` has the records that came whole,
    as they came.
    """

    runs: dict[str, RunRecord] = field(default_factory=dict)
    packed: dict[str, bytes] = field(default_factory=dict)
    job_events: dict[str, JobEvent] = field(default_factory=dict)
    dataset_events: dict[str, DatasetEvent] = field(default_factory=dict)
    changes: dict[str, RunChange] = field(default_factory=dict)
    named: NamedEntities = field(default_factory=lambda: NamedEntities({}, {}))

    def add(self, row: Row) -> None:
        """Join one row; a run told by several partitions becomes one."""
        kind, key, payload, _ = row
        if kind == "run":
            self._add_run(key.decode(), payload)
            return
        event = read_event(payload)
        if isinstance(event, JobEvent):
            self.job_events[event.text] = event
        elif isinstance(event, DatasetEvent):
            self.dataset_events[event.text] = event

    def without_events_before(self, horizon: int | None) -> list[Beyond]:
        """Take out the events of no run that are older than the horizon; returns them (specification 7)."""
        if horizon is None:
            return []
        old_jobs = [text for text, event in self.job_events.items() if event.time < horizon]
        old_datasets = [text for text, event_ in self.dataset_events.items() if event_.time < horizon]
        for text in old_jobs:
            del self.job_events[text]
        for text in old_datasets:
            del self.dataset_events[text]
        detail = older_than(horizon)
        beyond = [Beyond("job_event", text, detail) for text in old_jobs]
        beyond += [Beyond("dataset_event", text, detail) for text in old_datasets]
        if beyond:
            self.named = self.named_without(())
        return beyond

    def named_without(self, run_ids: Container[str]) -> NamedEntities:
        """Return what is told of jobs and datasets, leaving out what these runs tell."""
        records = (record for run_id, record in self.runs.items() if run_id not in run_ids)
        return named_by(records, self.job_events.values(), self.dataset_events.values())

    def _add_run(self, run_id: str, payload: bytes) -> None:
        record, known = unpack(payload, RunRecord), self.runs.get(run_id)
        if known is None:
            self.runs[run_id], self.packed[run_id] = record, payload
        else:
            self.packed.pop(run_id, None)
            absorb_run(known, record)


def told(rows: Iterable[Row]) -> Told:
    """Return what rows tell together."""
    incoming = Told()
    for row in rows:
        incoming.add(row)
    incoming.changes = {
        run_id: change_to(run_id, record, packed=incoming.packed.get(run_id))
        for run_id, record in incoming.runs.items()
    }
    incoming.named = incoming.named_without(())
    return incoming


@dataclass(slots=True)
class Portion:
    """Rows for one transaction, and what they tell if that was worked out already."""

    rows: list[Row]
    ahead: Told | None = None

    def told(self) -> Told:
        """Return what the rows tell; worked out anew each time but the first, since a transaction changes it."""
        ahead, self.ahead = self.ahead, None
        return told(self.rows) if ahead is None else ahead


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
