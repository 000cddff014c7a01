"""Rows of merged records to the content of a batch (specification 11)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from headwater_avro.events import DatasetEvent, JobEvent
from headwater_avro.json_codec import read_event
from headwater_graph.apply.run_changes import NamedEntities, RunChange, change_to, named_by
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.rules.coalesce import MergedRow
from headwater_graph.rules.horizon import HorizonRejection, older_than
from headwater_graph.rules.merge import absorb_run

Item = TypeVar("Item")


@dataclass(slots=True)
class MergedRows:
    """The content of a batch: partial records of runs by runId, and whole events by their canonical JSON.

    What follows from these alone is computed before anything stored is read: ``changes`` are the runs as if none of them
    were stored, ``named`` the records of the jobs and datasets that they name. ``packed`` has the records of which a
    single row came, as they came.
    """

    runs: dict[str, RunRecord] = field(default_factory=dict)
    packed: dict[str, bytes] = field(default_factory=dict)
    job_events: dict[str, JobEvent] = field(default_factory=dict)
    dataset_events: dict[str, DatasetEvent] = field(default_factory=dict)
    changes: dict[str, RunChange] = field(default_factory=dict)
    named: NamedEntities = field(default_factory=NamedEntities)

    def add(self, row: MergedRow) -> None:
        """Merge a row; rows of one run from several partitions become one record."""
        kind, key, payload, _ = row
        if kind == "run":
            self._add_run(key.decode(), payload)
            return
        event = read_event(payload)
        if isinstance(event, JobEvent):
            self.job_events[event.text] = event
        elif isinstance(event, DatasetEvent):
            self.dataset_events[event.text] = event

    def reject_events_before(self, horizon: int | None) -> list[HorizonRejection]:
        """Remove the JobEvents and DatasetEvents that are older than the horizon; return them (specification 10.11)."""
        if horizon is None:
            return []
        detail = older_than(horizon)
        rejected = [
            HorizonRejection("job_event", key, detail) for key, e in self.job_events.items() if e.time < horizon
        ]
        rejected += [
            HorizonRejection("dataset_event", key, detail) for key, e in self.dataset_events.items() if e.time < horizon
        ]
        for rejection in rejected:
            events = self.job_events if rejection.kind == "job_event" else self.dataset_events
            del events[rejection.key]
        if rejected:
            self.named = self.named_without(())
        return rejected

    def named_without(self, run_ids: Container[str]) -> NamedEntities:
        """Return the records of the jobs and datasets that the batch names, these runs left out."""
        records = (record for run_id, record in self.runs.items() if run_id not in run_ids)
        return named_by(records, self.job_events.values(), self.dataset_events.values())

    def _add_run(self, run_id: str, payload: bytes) -> None:
        record, known = unpack(payload, RunRecord), self.runs.get(run_id)
        if known is None:
            self.runs[run_id], self.packed[run_id] = record, payload
        else:
            self.packed.pop(run_id, None)
            absorb_run(known, record)


def merge_rows(rows: Iterable[MergedRow]) -> MergedRows:
    """Return the content of rows, with everything that follows from it alone."""
    merged = MergedRows()
    for row in rows:
        merged.add(row)
    merged.changes = {
        run_id: change_to(run_id, record, packed=merged.packed.get(run_id)) for run_id, record in merged.runs.items()
    }
    merged.named = merged.named_without(())
    return merged


@dataclass(slots=True)
class Portion:
    """The rows of one transaction, and their content if it was computed in advance."""

    rows: list[MergedRow]
    prepared: MergedRows | None = None

    def merged(self) -> MergedRows:
        """Return the content of the rows; computed anew at each call but the first, because a transaction changes it."""
        prepared, self.prepared = self.prepared, None
        return merge_rows(self.rows) if prepared is None else prepared


def portions(rows: Iterable[MergedRow], max_rows: int, max_bytes: int) -> Iterator[list[MergedRow]]:
    """Yield rows in portions for one transaction each; only a portion of a single row may exceed the bytes."""
    return divided(rows, max_rows, max_bytes, lambda row: len(row[2]))


def divided(
    items: Iterable[Item], max_items: int, max_bytes: int, size_of: Callable[[Item], int]
) -> Iterator[list[Item]]:
    """Yield items in portions; only a portion of a single item may exceed the bytes."""
    portion: list[Item] = []
    total = 0
    for item in items:
        size = size_of(item)
        if portion and (len(portion) >= max_items or total + size > max_bytes):
            yield portion
            portion, total = [], 0
        portion.append(item)
        total += size
    if portion:
        yield portion
