"""The events that tell a run's record again, joined as specification 2 says; not the events that once came.

A record keeps of each thing the instance that stays, with its order (eventTime, type rank). So there is an event for
each order that the record names, and it carries what the record has from that order. Events that left nothing but their
time or type in the record (the first one, the START that began the run, one that ended it) come back bare.

Two things in a record can't always be told again: lineage entries (specification 6.6) of several facets with one order, and a
job's parent from a facet that another one of the same order has replaced. Whoever wants to know joins the events and
compares: :func:`is_exact` does.
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
    """The events of one run by order and job; ``main`` is the job that the run's last event names."""

    def __init__(self, main: Key) -> None:
        self.main = main
        self.found: dict[tuple[Order, Key], _Event] = {}

    def at(self, order: Order, job: Key | None = None) -> _Event:
        """Return the event of this order that names a job: this one, else any, else a new one that names the main job."""
        if job is None:
            job = next((named for at, named in self.found if at == order), self.main)
        return self.found.setdefault((order, job), _Event())

    def has(self, *, rank: int | None = None, time: int | None = None, least: int = OTHER) -> bool:
        """Tell whether there is an event of this rank (or one at least this high) and time."""
        return any(
            (rank is None or at[1] == rank) and (time is None or at[0] == time) and at[1] >= least
            for at, _ in self.found
        )


def events_of(run_id: str, record: RunRecord) -> Iterator[bytes]:
    """Yield the events of a run as JSON, by time; joined they give its record (but see above)."""
    events = _Events(job_of_run(record))
    _name_jobs(events, record)
    _list_datasets(events, record)
    _tell_run_facets(events, record)
    _tell_parents(events, record)
    _tell_entries(events, record)
    _tell_times(events, record)
    for (order, job), event in sorted(events.found.items(), key=lambda item: item[0]):
        yield _json(run_id, order, job, event)


def is_exact(record: RunRecord, events: list[bytes]) -> bool:
    """Tell whether events, joined, give this very record."""
    joined: RunRecord | None = None
    for text in events:
        event = read_event(text)
        assert isinstance(event, RunEvent)
        if joined is None:
            joined = run_of(event)
        else:
            absorb_run(joined, run_of(event))
    return joined == record


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


def _tell_run_facets(events: _Events, record: RunRecord) -> None:
    for name, instance in record.facets.items():
        if name not in PARENTS:
            events.at(instance[:2]).run_facets[name] = instance[2]


def _tell_parents(events: _Events, record: RunRecord) -> None:
    """Specification 2.8: a parent facet tells of the run, and of the job that its event names."""
    for name in PARENTS:
        if (instance := record.facets.get(name)) is not None:
            job = _job_with_parent(record, instance)
            events.at(instance[:2], job).run_facets[name] = instance[2]
    for job, naming in record.jobs.items():
        if naming.parent is not None:
            _tell_parent(events, record, job, naming.parent)


def _job_with_parent(record: RunRecord, instance: Instance) -> Key | None:
    """A job of which this parent facet may have been told: nothing changes for it, or its own parent came from there."""
    told = read.parent_of(instance[2], None).job_text
    for job, naming in sorted(record.jobs.items()):
        parent = naming.parent
        if told and parent is not None and (parent[:2] > instance[:2] or parent == (*instance[:2], told.encode())):
            return job
        if not told and (naming.time, naming.rank) == instance[:2]:
            return job
    return None


def _tell_parent(events: _Events, record: RunRecord, job: Key, parent: Instance) -> None:
    event = events.at(parent[:2], job)
    if read.parent_of(*(event.run_facets.get(name) for name in PARENTS)).job_text.encode() == parent[2]:
        return
    namespace, name = read.key_from(parent[2])
    text = canonical({"job": {"namespace": namespace, "name": name}}).encode()
    for facet in PARENTS:
        known = record.facets.get(facet)
        # A facet that a later one replaces in the run's record still counts for the job of its own event.
        if known is not None and known[:2] > parent[:2]:
            event.run_facets[facet] = text
            return
    same = [facet for facet in PARENTS if (known := record.facets.get(facet)) is not None and known[:2] == parent[:2]]
    for facet in same:
        event.run_facets[facet] = record.facets[facet][2]


def _tell_entries(events: _Events, record: RunRecord) -> None:
    """Specification 6.6: the entries of all facets ``lineage`` are united, though of the facets the last one alone stays."""
    told = {entry for naming in record.jobs.values() for entry in _entries(naming.facets.get("lineage"))}
    missing = sorted(record.entries - told)
    if missing:
        job = max((job for job, naming in record.jobs.items() if "lineage" in naming.facets), default=events.main)
        entries: list[Json] = [cast("Json", parsed(entry.encode())) for entry in missing]
        text = canonical({"entries": entries}).encode()
        events.at((record.first, OTHER), job).job_facets.setdefault("lineage", text)


def _entries(lineage: Instance | None) -> tuple[str, ...]:
    return () if lineage is None else read.lineage_entries(lineage[2])


def _tell_times(events: _Events, record: RunRecord) -> None:
    """Specification 2.6: what is known of the first event, of START and of the end; each bare event is the least that there was."""
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
    told: dict[str, Any] = {
        "eventTime": format_time(order[0]),
        "eventType": TYPE_NAME[order[1]],
        "producer": PRODUCER,
        "schemaURL": f"{SCHEMA}RunEvent",
        "run": {"runId": run_id} | _facets("facets", event.run_facets),
        "job": {"namespace": job[0], "name": job[1]} | _facets("facets", event.job_facets),
    }
    sides = {"inputs": _listed(event.inputs, "inputFacets"), "outputs": _listed(event.outputs, "outputFacets")}
    return msgspec.json.encode(told | {name: listed for name, listed in sides.items() if listed})


def _listed(side: Mapping[Key, _Dataset], own: str) -> list[dict[str, Any]]:
    return [
        {"namespace": key[0], "name": key[1]} | _facets("facets", one.facets) | _facets(own, one.own)
        for key, one in sorted(side.items())
    ]


def _facets(name: str, texts: Texts) -> dict[str, Any]:
    """A container of facets, each with its very text; none where it is empty."""
    return {name: {facet: msgspec.Raw(text) for facet, text in sorted(texts.items())}} if texts else {}
