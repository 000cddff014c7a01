"""The sources of a job's explicit lineage and columns: its versioned runs and its JobEvents (specification 6.5, 6.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from headwater_avro.events import JobEvent
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key
from headwater_graph.apply.run_changes import RunChange
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.model.values import Moment, StoredItem
from headwater_graph.rules.job_events import JobEventReading, Reading, read_job_event
from headwater_graph.rules.runs import read_run

Precedence: TypeAlias = tuple[bool, Moment, bytes]
"""(did not fail, moment, digest of what it states): of the sources of a job the greatest counts (specification 6.5, 6.6)."""


@dataclass(frozen=True, slots=True)
class LineageSource:
    """What a versioned run or JobEvent states of explicit lineage and columns; ``good`` if it did not fail.

    Retained sources are stored with their job under these names.
    """

    good: bool
    moment: Moment
    entries: frozenset[str]
    columns: dict[Key, bytes]

    def entries_precedence(self) -> Precedence | None:
        """Return its precedence among the sources with explicit entries, None without entries."""
        return (self.good, self.moment, digest_of(sorted(self.entries))) if self.entries else None

    def columns_precedence(self, output: Key) -> Precedence | None:
        """Return its precedence among the sources with a column facet for an output, None without one."""
        text = self.columns.get(output)
        return None if text is None else (self.good, self.moment, digest_of(text))

    def order(self) -> tuple[bool, Moment]:
        """Return its precedence without the digest."""
        return self.good, self.moment


def lineage_source_of(reading: Reading) -> LineageSource | None:
    """Return a run or JobEvent as a source, None for a run that is not versioned."""
    if reading.moment is None:
        return None
    return LineageSource(not reading.failed, reading.moment, reading.entries, reading.columns)


def lineage_sources(
    changes: Iterable[RunChange], events: Iterable[JobEventReading]
) -> Iterator[tuple[Key, Moment, LineageSource | None]]:
    """Yield (job, moment, the source there now) for everything that a batch changes; None if there is none any more."""
    for change in changes:
        old, new = change.old, change.new
        if old is not None and old.moment is not None and (old.job, old.moment) != (new.job, new.moment):
            yield old.job, old.moment, None
        if new.moment is not None:
            yield new.job, new.moment, lineage_source_of(new)
    for event in events:
        yield event.job, event.moment, lineage_source_of(event)


def stored_reading(item: StoredItem) -> Reading:
    """Return what a stored item of a job's fold states."""
    if item.run_id is not None:
        return read_run(item.run_id, unpack(item.body, RunRecord))
    event = read_event(item.body)
    assert isinstance(event, JobEvent)
    return read_job_event(event)


def stored_lineage_source(item: StoredItem) -> LineageSource | None:
    """Return a stored item of a job's fold as a source."""
    return lineage_source_of(stored_reading(item))


_encode_sources = msgspec.msgpack.Encoder().encode
_decode_sources = msgspec.msgpack.Decoder(tuple[LineageSource, ...]).decode


def pack_retained_sources(sources: tuple[LineageSource, ...]) -> bytes | None:
    """Return removed sources as bytes, to be stored with their job (specification 10.8); None without any."""
    return _encode_sources(sources) if sources else None


def retained_sources_of(packed: bytes | None) -> tuple[LineageSource, ...]:
    """Return the sources that ``pack_retained_sources`` packed."""
    return () if packed is None else _decode_sources(packed)


def highest(
    sources: Iterable[LineageSource], precedence_of: Callable[[LineageSource], Precedence | None]
) -> Precedence | None:
    """Return the highest precedence of sources with different moments; digests are computed only down to that one."""
    in_order = sorted(sources, key=LineageSource.order, reverse=True)
    return next((precedence for precedence in map(precedence_of, in_order) if precedence is not None), None)


def digest_of(value: object) -> bytes:
    """Return a digest of a value; equal values have equal digests."""
    return blake2b(msgspec.msgpack.encode(value), digest_size=16).digest()
