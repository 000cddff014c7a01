"""All of a graph as OpenLineage events, or those of a job or since a time, page by page."""

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
"""Nodes asked for at once; their records are of a few kilobytes each."""

FIRST = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Tally:
    """What was exported; ``inexact`` counts the runs whose events, joined, don't give quite what the graph holds."""

    runs: int = 0
    events: int = 0
    inexact: int = 0


def export(
    reader: GraphReader, tally: Tally, *, job: str | None = None, since: datetime | None = None
) -> Iterator[bytes]:
    """Yield events, each one line of JSON without its newline, and count them in ``tally``.

    With the key of a ``job``: its runs and JobEvents alone; with ``since``: runs heard of and events of then or later. What
    datasets were told beside all that is told only where there is no filter. Raises as :class:`GraphReader`.
    """
    told = RemainingFacets()
    for line in _lines(reader, tally, told, job, since):
        tally.events += 1
        yield line


def _lines(
    reader: GraphReader, tally: Tally, told: RemainingFacets, job: str | None, since: datetime | None
) -> Iterator[bytes]:
    filtered = job is not None or since is not None
    for row in _runs(reader, job, since):
        record = unpack(row["record"], RunRecord)
        events = list(events_of(row["id"], record))
        tally.runs += 1
        tally.inexact += not is_exact(record, events)
        yield from events
        if not filtered:
            told.add_run(record)
    kept = _pages(reader, "export/job_events", job=job)
    for text in [kept, _pages(reader, "export/dataset_events")] if job is None else [kept]:
        yield from _kept(text, told, since)
    if not filtered:
        for row in _pages(reader, "export/datasets"):
            key = (row["namespace"], row["name"])
            yield from told.rest_of(key, unpack(row["record"], DatasetRecord))


def _kept(rows: Iterator[Row], told: RemainingFacets, since: datetime | None) -> Iterator[bytes]:
    least = EARLIEST if since is None else micros_of(since)
    for row in rows:
        if read_event(row["text"].encode()).time >= least:
            told.add_event(row["text"])
            yield row["text"].encode()


def _runs(reader: GraphReader, job: str | None, since: datetime | None) -> Iterator[Row]:
    """All runs with records, by the time of their last event; ``seen`` are those of the time at which a page ended."""
    time: object = since or FIRST
    seen: list[str] = []
    question, named = ("export/runs", {}) if job is None else ("export/runs_of_job", {"job": job})
    while rows := reader.rows(question, time=time, seen=seen, limit=PAGE, **named):
        yield from rows
        last = rows[-1]["time"]
        seen = [row["id"] for row in rows if row["time"] == last] + (seen if last == time else [])
        time = last


def _pages(reader: GraphReader, question: str, **parameters: object) -> Iterator[Row]:
    after = ""
    while rows := reader.rows(question, after=after, limit=PAGE, **parameters):
        yield from rows
        after = rows[-1]["key"]
