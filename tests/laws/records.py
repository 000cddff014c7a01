"""The run record (specification 2) and what it states (3, 4.4), merged from all events at once: simple and slow.

Part of the second implementation of the specification (`model.py`). It uses only the standard library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .wire import Event, Facets, Key, Listed, canonical, key_of, member, objects, text_or_none, valid

Order = tuple[int, int]
Moment = tuple[int, str]
TERMINAL = ("COMPLETE", "ABORT", "FAIL")  # 2.6, lowest first
FAILED = ("ABORT", "FAIL")


@dataclass(frozen=True, slots=True)
class Run:
    """One run record (2): the merge of all events of one runId."""

    id: str
    job: Key
    conflicts: tuple[Key, ...]
    state: str
    started: int | None
    ended: int | None
    first: int
    parent: tuple[str | None, Key | None]
    run_facets: Facets
    job_facets: Facets
    inputs: dict[Key, Listed]
    outputs: dict[Key, Listed]
    entries: tuple[dict[str, Any], ...]
    first_listed: dict[Key, int]

    @property
    def streaming(self) -> bool:
        """3.4."""
        return member(self.job_facets, "jobType", "processingType") in ("STREAMING", "SERVICE")

    @property
    def moment(self) -> Moment | None:
        """3.5: None while the run is not versioned."""
        time = self.first if self.streaming else self.ended
        return None if time is None else (time, self.id)


@dataclass(frozen=True, slots=True)
class Step:
    """A versioned run or a JobEvent in the fold of chapter 4; the id of its version is made of `identity`."""

    job: Key
    moment: Moment
    identity: tuple[Any, ...]
    run: str | None
    knows: bool
    failed: bool
    inputs: frozenset[Key]
    outputs: frozenset[Key]
    code: str | None
    output_facets: dict[Key, Facets]
    entries: tuple[dict[str, Any], ...]


def deleted(facet: Any) -> bool:
    """2.4: an object with `_deleted` exactly true."""
    return member(facet, "_deleted") is True


def without_deleted(facets: Facets) -> Facets:
    """2.4: job or dataset facets without those that are deleted."""
    return {name: facet for name, facet in facets.items() if not deleted(facet)}


def merged(carriers: Iterable[tuple[Order, Facets]]) -> Facets:
    """2.1, 2.3: of each facet the instance of the last event that carries it, ties by canonical JSON."""
    best: dict[str, tuple[Order, str, Any]] = {}
    for order, facets in carriers:
        for name, facet in facets.items():
            instance = (order, canonical(facet), facet)
            if name not in best or instance[:2] > best[name][:2]:
                best[name] = instance
    return {name: facet for name, (_, _, facet) in best.items()}


def last_key(named: Iterable[tuple[Order, Key]]) -> Key | None:
    """2.1: the key named last, ties by canonical JSON."""
    found = sorted(named, key=lambda pair: (pair[0], canonical(pair[1])))
    return found[-1][1] if found else None


def side_of(event: Event, side: str) -> dict[Key, Listed]:
    return event.inputs if side == "input" else event.outputs


def snapshot_events(events: list[Event]) -> list[Event]:
    """2.7: the last event that lists any dataset, all of them if several tie."""
    listing = [event for event in events if event.inputs or event.outputs]
    last = max((event.order for event in listing), default=None)
    return [event for event in listing if event.order == last]


def side(events: list[Event], listing: list[Event], name: str) -> dict[Key, Listed]:
    """2.2, 2.3, 2.7: the datasets that `listing` lists, their facets merged over all events."""
    record: dict[Key, Listed] = {}
    for key in {key for event in listing for key in side_of(event, name)}:
        naming = [(event.order, side_of(event, name)[key]) for event in events if key in side_of(event, name)]
        record[key] = Listed(
            without_deleted(merged((order, listed.facets) for order, listed in naming)),
            merged((order, listed.side_facets) for order, listed in naming),
        )
    return record


def state_of(events: list[Event]) -> str:
    """2.6."""
    types = {event.type for event in events}
    ended = [state for state in TERMINAL if state in types]
    if ended:
        return ended[-1]
    return "RUNNING" if types & {"START", "RUNNING"} else "NEW"


def parent_of(run_facets: Facets) -> tuple[str | None, Key | None]:
    """2.8: parent run and parent's job, of `parent` if it gives either, else of `parentRun`."""
    for name in ("parent", "parentRun"):
        run_id, job = member(run_facets, name, "run", "runId"), key_of(member(run_facets, name, "job"))
        if valid(run_id) or job is not None:
            return (run_id if valid(run_id) else None, job)
    return (None, None)


def entries_of(events: Iterable[Event]) -> tuple[dict[str, Any], ...]:
    """6.6: the valid entries of the `lineage` facets of these events, united as a set by canonical JSON."""
    found = {
        canonical(entry): entry
        for event in events
        for entry in objects(member(without_deleted(event.job_facets), "lineage", "entries"))
        if key_of(entry) is not None and names_dataset(entry)
    }
    return tuple(found[text] for text in sorted(found))


def names_dataset(entry: dict[str, Any]) -> bool:
    """6.6: `type` is DATASET or absent (1.5)."""
    return text_or_none(entry.get("type")) in (None, "DATASET")


def coalesce(run_id: str, events: list[Event]) -> Run:
    """Chapter 2: the record of one run."""
    job = last_key((event.order, event.job) for event in events if event.job is not None)
    assert job is not None
    run_facets = merged((event.order, event.run_facets) for event in events)
    job_facets = without_deleted(merged((event.order, event.job_facets) for event in events))
    mode = member(job_facets, "jobType", "emissionPattern", "eventContentMode")
    listing = snapshot_events(events) if mode == "COMPLETE_SNAPSHOT" else events
    return Run(
        id=run_id,
        job=job,
        conflicts=tuple(sorted({event.job for event in events if event.job is not None} - {job})),
        state=state_of(events),
        started=min((event.time for event in events if event.type == "START"), default=None),
        ended=max((event.time for event in events if event.type in TERMINAL), default=None),
        first=min(event.time for event in events),
        parent=parent_of(run_facets),
        run_facets=run_facets,
        job_facets=job_facets,
        inputs=side(events, listing, "input"),
        outputs=side(events, listing, "output"),
        entries=entries_of(events),
        first_listed={
            key: min(event.time for event in events if key in event.outputs)
            for key in {key for event in events for key in event.outputs}
        },
    )


def code_version(job_facets: Facets) -> str | None:
    """3.3."""
    source = text_or_none(member(job_facets, "sourceCode", "sourceCode"))
    return (
        text_or_none(member(job_facets, "sourceCodeLocation", "version"))
        or text_or_none(member(job_facets, "sourceCodeLocation", "tag"))
        or (hashlib.sha256(source.encode()).hexdigest() if source else None)
    )


def run_step(run: Run) -> Step:
    """3.1, 3.2, 3.5: a versioned run in the fold."""
    assert run.moment is not None
    return Step(
        job=run.job,
        moment=run.moment,
        identity=(run.job, run.id),
        run=run.id,
        knows=bool(run.inputs or run.outputs),
        failed=run.state in FAILED,
        inputs=frozenset(run.inputs),
        outputs=frozenset(run.outputs),
        code=code_version(run.job_facets),
        output_facets={key: listed.facets for key, listed in run.outputs.items()},
        entries=run.entries,
    )


def event_step(event: Event) -> Step:
    """3.6, 4.4: a JobEvent in the fold."""
    assert event.job is not None
    facets = without_deleted(event.job_facets)
    retired = isinstance(facets.get("headwater_retired"), dict)
    inputs, outputs = ({}, {}) if retired else (event.inputs, event.outputs)
    return Step(
        job=event.job,
        moment=(event.time, event.text),
        identity=(event.job, "event", event.text),
        run=None,
        knows=retired or bool(inputs or outputs),
        failed=False,
        inputs=frozenset(inputs),
        outputs=frozenset(outputs),
        code=code_version(facets),
        output_facets={key: without_deleted(listed.facets) for key, listed in outputs.items()},
        entries=entries_of([event]),
    )
