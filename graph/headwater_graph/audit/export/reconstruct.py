"""Events that reproduce a run's record when they are merged (specification 2). They are not the events that were received.

Theory of operation: merging keeps, of each facet and each listed dataset, the instance with the greatest order (eventTime,
type rank), and the record stores that order. So one event is written for each order in the record, with everything that the
record has from that order. Merging these events keeps each instance again, since no other event contains a newer one. An
event that left only its time or type in the record (the first event, the START, the event that ended the run) is written
without facets and datasets.

Two things in a record can't always be reproduced: lineage entries (specification 6.6) of several facets with one order, and
a job's parent from a facet that another one of the same order has replaced. ``is_exact`` merges the events and compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from headwater_avro.canonical import Json, canonical, parsed
from headwater_avro.events import COMPLETE, OTHER, RUNNING, START, TYPE_NAME, RunEvent
from headwater_avro.json_codec import read_event
from headwater_avro.names import Key
from headwater_avro.times import format_time
from headwater_graph.model.records import Facets, Instance, Listing, RunRecord
from headwater_graph.rules import facets as read
from headwater_graph.rules.merge import absorb_run, run_of
from headwater_graph.rules.runs import job_of_run

PRODUCER = "urn:headwater:export"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
PARENTS = ("parent", "parentRun")

Order = tuple[int, int]
"""(eventTime in microseconds, type rank) (specification 2.1)."""

Texts = dict[str, bytes]


@dataclass(slots=True)
class _Dataset:
    facets: Texts = field(default_factory=dict)
    own: Texts = field(default_factory=dict)


@dataclass(slots=True)
class _Event:
    """One event under construction."""

    run_facets: Texts = field(default_factory=dict)
    job_facets: Texts = field(default_factory=dict)
    inputs: dict[Key, _Dataset] = field(default_factory=dict)
    outputs: dict[Key, _Dataset] = field(default_factory=dict)


class _Events:
    """The events of a run by order and job; ``main`` is the job that the run's last event names."""

    def __init__(self, main: Key) -> None:
        self.main = main
        self.found: dict[tuple[Order, Key], _Event] = {}

    def at(self, order: Order, job: Key | None = None) -> _Event:
        """Return the event of this order and job, a new one if needed; without a job, of any job or else of the main job."""
        if job is None:
            job = next((named for at, named in self.found if at == order), self.main)
        return self.found.setdefault((order, job), _Event())

    def has(self, *, rank: int | None = None, time: int | None = None, least: int = OTHER) -> bool:
        """Return whether there is an event of this rank and time, with a rank of at least ``least``."""
        return any(
            (rank is None or at[1] == rank) and (time is None or at[0] == time) and at[1] >= least
            for at, _ in self.found
        )


def events_of(run_id: str, record: RunRecord) -> Iterator[bytes]:
    """Yield the events of a run as JSON, by time; merged, they give its record (see above for the exceptions)."""
    events = _Events(job_of_run(record))
    _name_jobs(events, record)
    _list_datasets(events, record)
    _write_run_facets(events, record)
    _write_parents(events, record)
    _write_entries(events, record)
    _write_times(events, record)
    for (order, job), event in sorted(events.found.items(), key=lambda item: item[0]):
        yield _json(run_id, order, job, event)


def is_exact(record: RunRecord, events: list[bytes]) -> bool:
    """Return whether events, merged, give exactly this record."""
    merged: RunRecord | None = None
    for text in events:
        event = read_event(text)
        assert isinstance(event, RunEvent)
        if merged is None:
            merged = run_of(event)
        else:
            absorb_run(merged, run_of(event))
    return merged == record


def _name_jobs(events: _Events, record: RunRecord) -> None:
    for job, naming in record.jobs.items():
        events.at((naming.time, naming.rank), job)
        for name, (time, rank, text) in naming.facets.items():
            events.at((time, rank), job).job_facets[name] = text
        if naming.parent is not None:
            events.at(naming.parent[:2], job)


def _list_datasets(events: _Events, record: RunRecord) -> None:
    for side in ("inputs", "outputs"):
        listings: Mapping[Key, Listing] = getattr(record, side)
        for key, listing in listings.items():
            _list(events, side, key, listing)


def _list(events: _Events, side: str, key: Key, listing: Listing) -> None:
    def at(order: Order) -> _Dataset:
        listed: dict[Key, _Dataset] = getattr(events.at(order), side)
        return listed.setdefault(key, _Dataset())

    at((listing.time, listing.rank))
    for name, (time, rank, text) in listing.facets.items():
        at((time, rank)).facets[name] = text
    for name, (time, rank, text) in listing.own.items():
        at((time, rank)).own[name] = text
    orders = [(listing.time, listing.rank), *_orders(listing.facets), *_orders(listing.own)]
    if listing.first not in [time for time, _ in orders]:
        at((listing.first, OTHER))


def _orders(facets: Facets) -> Iterator[Order]:
    return ((time, rank) for time, rank, _ in facets.values())


def _write_run_facets(events: _Events, record: RunRecord) -> None:
    for name, instance in record.facets.items():
        if name not in PARENTS:
            events.at(instance[:2]).run_facets[name] = instance[2]


def _write_parents(events: _Events, record: RunRecord) -> None:
    """Write parent facets: each applies to the run, and to the job that its event names (specification 2.8)."""
    for name in PARENTS:
        if (instance := record.facets.get(name)) is not None:
            job = _job_with_parent(record, instance)
            events.at(instance[:2], job).run_facets[name] = instance[2]
    for job, naming in record.jobs.items():
        if naming.parent is not None:
            _write_parent(events, record, job, naming.parent)


def _job_with_parent(record: RunRecord, instance: Instance) -> Key | None:
    """Return a job whose event may contain this parent facet: its own parent is newer, or comes from this facet."""
    named = read.parent_of(instance[2], None).job_text
    for job, naming in sorted(record.jobs.items()):
        parent = naming.parent
        if named and parent is not None and (parent[:2] > instance[:2] or parent == (*instance[:2], named.encode())):
            return job
        if not named and (naming.time, naming.rank) == instance[:2]:
            return job
    return None


def _write_parent(events: _Events, record: RunRecord, job: Key, parent: Instance) -> None:
    event = events.at(parent[:2], job)
    if read.parent_of(*(event.run_facets.get(name) for name in PARENTS)).job_text.encode() == parent[2]:
        return
    namespace, name = read.key_from(parent[2])
    text = canonical({"job": {"namespace": namespace, "name": name}}).encode()
    for facet in PARENTS:
        known = record.facets.get(facet)
        # A facet that a later one replaces in the run's record still applies to the job of its own event.
        if known is not None and known[:2] > parent[:2]:
            event.run_facets[facet] = text
            return
    same = [facet for facet in PARENTS if (known := record.facets.get(facet)) is not None and known[:2] == parent[:2]]
    for facet in same:
        event.run_facets[facet] = record.facets[facet][2]


def _write_entries(events: _Events, record: RunRecord) -> None:
    """Write the lineage entries of facets that were replaced: entries of all of them stay in the record (specification 6.6)."""
    written = {entry for naming in record.jobs.values() for entry in _entries(naming.facets.get("lineage"))}
    missing = sorted(record.entries - written)
    if missing:
        job = max((job for job, naming in record.jobs.items() if "lineage" in naming.facets), default=events.main)
        entries: list[Json] = [cast("Json", parsed(entry.encode())) for entry in missing]
        text = canonical({"entries": entries}).encode()
        events.at((record.first, OTHER), job).job_facets.setdefault("lineage", text)


def _entries(lineage: Instance | None) -> tuple[str, ...]:
    return () if lineage is None else read.lineage_entries(lineage[2])


def _write_times(events: _Events, record: RunRecord) -> None:
    """Write the first event, the START and the end of the run, as far as no other event implies them (specification 2.6)."""
    if record.started is not None and not events.has(rank=START, time=record.started):
        events.at((record.started, START))
    if record.opened and not (events.has(rank=START) or events.has(rank=RUNNING)):
        events.at((record.first, RUNNING))
    if record.terminal and not events.has(rank=record.terminal):
        events.at((record.first, record.terminal))
    if record.ended is not None and not events.has(time=record.ended, least=COMPLETE):
        events.at((record.ended, COMPLETE))
    if not events.has(time=record.first):
        events.at((record.first, OTHER))


def _json(run_id: str, order: Order, job: Key, event: _Event) -> bytes:
    members: dict[str, Any] = {
        "eventTime": format_time(order[0]),
        "eventType": TYPE_NAME[order[1]],
        "producer": PRODUCER,
        "schemaURL": f"{SCHEMA}RunEvent",
        "run": {"runId": run_id} | _facets("facets", event.run_facets),
        "job": {"namespace": job[0], "name": job[1]} | _facets("facets", event.job_facets),
    }
    sides = {"inputs": _listed(event.inputs, "inputFacets"), "outputs": _listed(event.outputs, "outputFacets")}
    return msgspec.json.encode(members | {name: listed for name, listed in sides.items() if listed})


def _listed(side: Mapping[Key, _Dataset], own: str) -> list[dict[str, Any]]:
    return [
        {"namespace": key[0], "name": key[1]} | _facets("facets", dataset.facets) | _facets(own, dataset.own)
        for key, dataset in sorted(side.items())
    ]


def _facets(name: str, texts: Texts) -> dict[str, Any]:
    """Return a container of facets with their unchanged texts; an empty dictionary if there are none."""
    return {name: {facet: msgspec.Raw(text) for facet, text in sorted(texts.items())}} if texts else {}
