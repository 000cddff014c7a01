"""Who tells explicit lineage or columns of a job: its versioned runs and its JobEvents (specification 6.5, 6.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from headwater_avro.events import JobEvent
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key
from headwater_graph.model.records import Listing, RunRecord, unpack
from headwater_graph.model.values import Moment, StoredItem
from headwater_graph.rules import facets as read
from headwater_graph.rules.merge import job_of, sides_of
from headwater_graph.rules.runs import Run, read_run, run_job_facets, sides

if TYPE_CHECKING:
    from headwater_graph.apply.run_changes import RunChange

Precedence: TypeAlias = tuple[bool, Moment, bytes]
"""A source of lineage among others of its job: not failed before failed, then by moment (specification 6.5, 6.6); and a digest of
what it tells."""


@dataclass(frozen=True, slots=True)
class LineageSource:
    """A versioned run or JobEvent as far as it tells explicit lineage or columns."""

    good: bool
    moment: Moment
    entries: frozenset[str]
    columns: dict[Key, bytes]

    def explicitly(self) -> Precedence | None:
        """Its standing among those with explicit entries."""
        return (self.good, self.moment, digest_of(sorted(self.entries))) if self.entries else None

    def of_columns(self, output: Key) -> Precedence | None:
        """Its standing among those whose record carries a column facet for an output."""
        text = self.columns.get(output)
        return None if text is None else (self.good, self.moment, digest_of(text))

    def place(self) -> tuple[bool, Moment]:
        """What its standing goes by."""
        return self.good, self.moment


def lineage_source_of_run(run: Run, record: RunRecord) -> LineageSource | None:
    """Return what a run tells, None while it is not versioned."""
    if run.moment is None:
        return None
    job_facets = run_job_facets(record)
    _, outputs = sides(record, read.is_snapshot(read.living(job_facets, "jobType")))
    return LineageSource(not run.failed, run.moment, frozenset(record.entries), _columns(outputs))


def lineage_source_of_event(event: JobEvent) -> LineageSource:
    """Return what a JobEvent tells; it counts as a run that did not fail (specification 6.5)."""
    job_facets = job_of(event).facets
    _, outputs = sides_of(event)
    retired = read.is_retired(job_facets)
    entries = frozenset() if retired else frozenset(read.lineage_entries(event.job_facets.get("lineage")))
    return LineageSource(True, (event.time, event.text), entries, {} if retired else _columns(outputs))


def _columns(outputs: dict[Key, Listing]) -> dict[Key, bytes]:
    """Return the column lineage facets that the outputs carry; one that is no object is absent (specification 1.5)."""
    found = ((key, read.living(listing.facets, "columnLineage")) for key, listing in outputs.items())
    return {key: text for key, text in found if text is not None and text.lstrip()[:1] == b"{"}


def lineage_sources(
    changes: Iterable[RunChange], events: Iterable[JobEvent]
) -> Iterator[tuple[Key, Moment, LineageSource | None]]:
    """Yield (job, moment, who tells there now) for all that a batch changes; None where nobody does any more."""
    for change in changes:
        old, new = change.old, change.new
        if old is not None and old.moment is not None and (old.job, old.moment) != (new.job, new.moment):
            yield old.job, old.moment, None
        if change.lineage_source is not None:
            yield new.job, change.lineage_source.moment, change.lineage_source
    for event in events:
        yield event.job, (event.time, event.text), lineage_source_of_event(event)


def stored_lineage_source(item: StoredItem) -> LineageSource | None:
    """Return what a stored item of a job's fold tells."""
    if item.run_id is None:
        return lineage_source_of_event(cast("JobEvent", read_event(item.body)))
    record = unpack(item.body, RunRecord)
    return lineage_source_of_run(read_run(item.run_id, record), record)


_encode_past = msgspec.msgpack.Encoder().encode
_decode_past = msgspec.msgpack.Decoder(tuple[LineageSource, ...]).decode


def pack_retained_sources(lineage_sources: tuple[LineageSource, ...]) -> bytes | None:
    """Return what is told by runs and events that are gone, as it is kept with their job (specification 7); None for nothing."""
    return _encode_past(lineage_sources) if lineage_sources else None


def retained_sources_of(packed: bytes | None) -> tuple[LineageSource, ...]:
    """Return the tellers that :func:`pack_retained_sources` packed."""
    return () if packed is None else _decode_past(packed)


def highest(
    lineage_sources: Iterable[LineageSource], precedence_of: Callable[[LineageSource], Precedence | None]
) -> Precedence | None:
    """Return the highest standing of tellers of different moments; digests are made down to that one, not of all."""
    by_place = sorted(lineage_sources, key=LineageSource.place, reverse=True)
    return next((precedence for precedence in map(precedence_of, by_place) if precedence is not None), None)


def digest_of(value: object) -> bytes:
    """Return a digest by which equal things are known as equal."""
    return blake2b(msgspec.msgpack.encode(value), digest_size=16).digest()
