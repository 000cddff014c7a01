"""Export a graph as OpenLineage events, page by page: all of it, one job, or everything since a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from headwater_avro.json_codec import read_event
from headwater_avro.times import EARLIEST, micros_of
from headwater_graph.audit.export.reconstruct import events_of, is_exact
from headwater_graph.audit.export.remaining_facets import RemainingFacets
from headwater_graph.model.records import DatasetRecord, RunRecord, unpack
from headwater_graph.queries.reader import GraphReader, Row

PAGE = 500
"""Nodes per query; their records have a few kilobytes each."""

FIRST = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class ExportTotals:
    """Counts of exported runs and events; ``inexact`` counts runs whose events, merged, do not give exactly their record."""

    runs: int = 0
    events: int = 0
    inexact: int = 0


def export(
    reader: GraphReader, totals: ExportTotals, *, job: str | None = None, since: datetime | None = None
) -> Iterator[bytes]:
    """Yield events, each one line of JSON without its newline, and count them in ``totals``.

    With the key of a ``job``, only its runs and JobEvents; with ``since``, only runs whose last event and events whose time
    is not earlier. The remaining facets of datasets are exported only without a filter. Raises as ``GraphReader``.
    """
    exported = RemainingFacets()
    for line in _lines(reader, totals, exported, job, since):
        totals.events += 1
        yield line


def _lines(
    reader: GraphReader, totals: ExportTotals, exported: RemainingFacets, job: str | None, since: datetime | None
) -> Iterator[bytes]:
    filtered = job is not None or since is not None
    for row in _runs(reader, job, since):
        record = unpack(row["record"], RunRecord)
        events = list(events_of(row["id"], record))
        totals.runs += 1
        totals.inexact += not is_exact(record, events)
        yield from events
        if not filtered:
            exported.add_run(record)
    job_events = _pages(reader, "export/job_events", job=job)
    for text in [job_events, _pages(reader, "export/dataset_events")] if job is None else [job_events]:
        yield from _stored_events(text, exported, since)
    if not filtered:
        for row in _pages(reader, "export/datasets"):
            key = (row["namespace"], row["name"])
            yield from exported.remaining(key, unpack(row["record"], DatasetRecord))


def _stored_events(rows: Iterator[Row], exported: RemainingFacets, since: datetime | None) -> Iterator[bytes]:
    least = EARLIEST if since is None else micros_of(since)
    for row in rows:
        if read_event(row["text"].encode()).time >= least:
            exported.add_event(row["text"])
            yield row["text"].encode()


def _runs(reader: GraphReader, job: str | None, since: datetime | None) -> Iterator[Row]:
    """Yield all runs with records, by the time of their last event."""
    time: object = since or FIRST
    # Runs of the time at which a page ended, since the next page begins with the same time.
    seen: list[str] = []
    query, named = ("export/runs", {}) if job is None else ("export/runs_of_job", {"job": job})
    while rows := reader.rows(query, time=time, seen=seen, limit=PAGE, **named):
        yield from rows
        last = rows[-1]["time"]
        seen = [row["id"] for row in rows if row["time"] == last] + (seen if last == time else [])
        time = last


def _pages(reader: GraphReader, query: str, **parameters: object) -> Iterator[Row]:
    after = ""
    while rows := reader.rows(query, after=after, limit=PAGE, **parameters):
        yield from rows
        after = rows[-1]["key"]
