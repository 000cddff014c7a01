"""Who tells explicit lineage or columns of a job: its versioned runs and its JobEvents (SPEC 6.5, 6.6)."""

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
    from headwater_graph.apply.run_changes import Change

Standing: TypeAlias = tuple[bool, Moment, bytes]
"""A source of lineage among others of its job: not failed before failed, then by moment (SPEC 6.5, 6.6); and a digest of
what it tells."""


@dataclass(frozen=True, slots=True)
class Teller:
    """A versioned run or JobEvent as far as it tells explicit lineage or columns."""

    good: bool
    moment: Moment
    entries: frozenset[str]
    columns: dict[Key, bytes]

    def explicitly(self) -> Standing | None:
        """Its standing among those with explicit entries."""
        return (self.good, self.moment, digest_of(sorted(self.entries))) if self.entries else None

    def of_columns(self, output: Key) -> Standing | None:
        """Its standing among those whose record carries a column facet for an output."""
        text = self.columns.get(output)
        return None if text is None else (self.good, self.moment, digest_of(text))

    def place(self) -> tuple[bool, Moment]:
        """What its standing goes by."""
        return self.good, self.moment


def teller_of_run(run: Run, record: RunRecord) -> Teller | None:
    """Return what a run tells, None while it is not versioned."""
    if run.moment is None:
        return None
    job_facets = run_job_facets(record)
    _, outputs = sides(record, read.is_snapshot(read.living(job_facets, "jobType")))
    return Teller(not run.failed, run.moment, frozenset(record.entries), _columns(outputs))


def teller_of_event(event: JobEvent) -> Teller:
    """Return what a JobEvent tells; it counts as a run that did not fail (SPEC 6.5)."""
    job_facets = job_of(event).facets
    _, outputs = sides_of(event)
    retired = read.is_retired(job_facets)
    entries = frozenset() if retired else frozenset(read.lineage_entries(event.job_facets.get("lineage")))
    return Teller(True, (event.time, event.text), entries, {} if retired else _columns(outputs))


def _columns(outputs: dict[Key, Listing]) -> dict[Key, bytes]:
    """Return the column lineage facets that the outputs carry; one that is no object is absent (SPEC 1.5)."""
    found = ((key, read.living(listing.facets, "columnLineage")) for key, listing in outputs.items())
    return {key: text for key, text in found if text is not None and text.lstrip()[:1] == b"{"}


def tellers(changes: Iterable[Change], events: Iterable[JobEvent]) -> Iterator[tuple[Key, Moment, Teller | None]]:
    """Yield (job, moment, who tells there now) for all that a batch changes; None where nobody does any more."""
    for change in changes:
        old, new = change.old, change.new
        if old is not None and old.moment is not None and (old.job, old.moment) != (new.job, new.moment):
            yield old.job, old.moment, None
        if change.teller is not None:
            yield new.job, change.teller.moment, change.teller
    for event in events:
        yield event.job, (event.time, event.text), teller_of_event(event)


def stored_teller(item: StoredItem) -> Teller | None:
    """Return what a stored item of a job's fold tells."""
    if item.run_id is None:
        return teller_of_event(cast("JobEvent", read_event(item.body)))
    record = unpack(item.body, RunRecord)
    return teller_of_run(read_run(item.run_id, record), record)


_encode_past = msgspec.msgpack.Encoder().encode
_decode_past = msgspec.msgpack.Decoder(tuple[Teller, ...]).decode


def pack_past(tellers: tuple[Teller, ...]) -> bytes | None:
    """Return what is told by runs and events that are gone, as it is kept with their job (SPEC 7); None for nothing."""
    return _encode_past(tellers) if tellers else None


def past_of(packed: bytes | None) -> tuple[Teller, ...]:
    """Return the tellers that :func:`pack_past` packed."""
    return () if packed is None else _decode_past(packed)


def highest(tellers: Iterable[Teller], standing_of: Callable[[Teller], Standing | None]) -> Standing | None:
    """Return the highest standing of tellers of different moments; digests are made down to that one, not of all."""
    by_place = sorted(tellers, key=Teller.place, reverse=True)
    return next((standing for standing in map(standing_of, by_place) if standing is not None), None)


def digest_of(value: object) -> bytes:
    """Return a digest by which equal things are known as equal."""
    return blake2b(msgspec.msgpack.encode(value), digest_size=16).digest()
