"""Reducing events that are too large; pure.

In this order, each step only while the event is too large:

1. debug facets of the run are removed (``DEBUG``);
2. of a RunEvent, the ``columnLineage`` facets of its outputs and inputs, then whole datasets, move into further events
   of the same run, type and time. This loses nothing: the events of a run are merged (specification 2.2, 2.3, 2.7);
3. long texts are shortened (``TEXTS``): a stack trace to its end, others to their beginning;
4. facets of properties are removed (``PROPERTIES``), then column metrics;
5. a ``columnLineage`` that is too large by itself is changed to its compact form: what is the same for every field moves
   into its ``dataset`` list (specification 6.5: the same graph); then its descriptions are removed; then its last fields;
6. facets that OpenLineage doesn't define are removed, the largest first; then all others but ``parent``.

The facet ``headwater_cut`` (of the run; of the job or dataset in events without a run) lists what was done. An event
without facets that is still too large is sent as it is: Kafka refuses it, and the spool stores it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...producer import CLASSES
from ..wire import SIDES, Tree, datasets_of, facets_of, pointer_token, to_json
from .columns import reduce_columns

REPORT_BYTES = 16_000
REPORT_ENTRIES = 100
TEXT_LIMIT = 10_000

DEBUG = ("spark.logicalPlan", "spark_unknown", "debug")
TEXTS: dict[str, tuple[str, ...]] = {
    "errorMessage": ("stackTrace", "message"),
    "sourceCode": ("sourceCode",),
    "sql": ("query",),
    "documentation": ("description",),
}
PROPERTIES = ("environment-properties", "spark_properties", "environmentVariables", "executionParameters")
METRICS = ("dataQualityMetrics", "dataQualityAssertions")
KNOWN = frozenset(("parentRun", *(name for _, name in CLASSES)))
"""The facets that OpenLineage defines."""


@dataclass(slots=True)
class Report:
    """What was done to one event: JSON pointer, what, and how many bytes."""

    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, path: str, done: str, size: int) -> None:
        self.entries.append({"path": path, "done": done, "bytes": size})

    def facet(self, limit: int) -> Tree:
        """Return the facet ``headwater_cut``."""
        facet: Tree = {
            "_producer": "urn:headwater:emitter",
            "_schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet",
            "limit": limit,
            "cut": self.entries[:REPORT_ENTRIES],
        }
        more = len(self.entries) - REPORT_ENTRIES
        return facet | ({"more": more} if more > 0 else {})


@dataclass(frozen=True, slots=True)
class Slot:
    """One facet and the object that contains it."""

    container: Tree
    name: str
    path: str

    def value(self) -> Any:
        return self.container[self.name]

    def size(self) -> int:
        return len(to_json(self.container[self.name])) + len(self.name) + 4


def fit(event: Tree, limit: int) -> list[Tree]:
    """Return the event, and further ones if needed, each at most ``limit`` bytes of JSON where that is possible.

    An event that fits is returned unchanged. Other events are changed in place.
    """
    if len(to_json(event)) <= limit:
        return [event]
    report = Report()
    room = max(limit - REPORT_BYTES, limit // 2)
    _remove(event, room, report, DEBUG.__contains__)
    is_run = isinstance(event.get("run"), dict) and isinstance(event.get("job"), dict)
    events = _spread(event, room, report) if is_run else [event]
    for part in events:
        for step in _STEPS:
            step(part, room, report)
    subject = _subject(event)
    if report.entries and isinstance(subject, dict):
        subject.setdefault("facets", {})["headwater_cut"] = report.facet(limit)
    return events


def is_reduced(event: Tree) -> bool:
    """Return whether ``fit`` has changed the event."""
    subject = _subject(event)
    facets = subject.get("facets") if isinstance(subject, dict) else None
    return isinstance(facets, dict) and "headwater_cut" in facets


def _subject(event: Tree) -> Any:
    return event.get("run", event.get("job", event.get("dataset")))


def _spread(event: Tree, room: int, report: Report) -> list[Tree]:
    """Return the event with what fits, and further ones of the same run with its other column lineage and datasets."""
    if len(to_json(event)) <= room:
        return [event]
    moved = list(_take_columns(event, report))
    if len(to_json(event)) > room:
        moved = list(_take_datasets(event, report)) + moved
    return [event, *_packed(event, moved, room)]


def _take_columns(event: Tree, report: Report) -> Iterator[tuple[str, Tree]]:
    for side, path, dataset in datasets_of(event):
        facets = dataset.get("facets")
        if isinstance(facets, dict) and "columnLineage" in facets:
            moved = facets.pop("columnLineage")
            report.add(f"{path}/facets/columnLineage", "moved", len(to_json(moved)))
            yield f"{side}s", _identity(dataset) | {"facets": {"columnLineage": moved}}


def _take_datasets(event: Tree, report: Report) -> Iterator[tuple[str, Tree]]:
    for side, path, dataset in datasets_of(event):
        report.add(path, "moved", len(to_json(dataset)))
        yield f"{side}s", dataset
    for side in SIDES:
        event.pop(f"{side}s", None)


def _packed(event: Tree, moved: list[tuple[str, Tree]], room: int) -> list[Tree]:
    frame = _frame(event)
    start = len(to_json(frame)) + 40
    parts: list[Tree] = []
    size = room
    for side, dataset in moved:
        weight = len(to_json(dataset)) + 1
        if size + weight > room:
            parts.append(_frame(event))
            size = start
        parts[-1].setdefault(side, []).append(dataset)
        size += weight
    return parts


def _frame(event: Tree) -> Tree:
    frame = {name: event[name] for name in ("eventType", "eventTime", "producer", "schemaURL") if name in event}
    return frame | {"run": {"runId": event["run"].get("runId")}, "job": _identity(event["job"])}


def _identity(value: Tree) -> Tree:
    return {name: value[name] for name in ("namespace", "name") if name in value}


def _shorten_texts(event: Tree, room: int, report: Report) -> None:
    over = len(to_json(event)) - room
    for slot in _slots(event) if over > 0 else ():
        facet = slot.value()
        for member in TEXTS.get(slot.name, ()) if isinstance(facet, dict) else ():
            text = facet.get(member)
            if isinstance(text, str) and len(text) > TEXT_LIMIT:
                facet[member] = text[-TEXT_LIMIT:] if member == "stackTrace" else text[:TEXT_LIMIT]
                report.add(f"{slot.path}/{member}", "shortened", len(text) - TEXT_LIMIT)


def _remove_properties(event: Tree, room: int, report: Report) -> None:
    _remove(event, room, report, PROPERTIES.__contains__)
    _remove(event, room, report, METRICS.__contains__)


def _reduce_columns(event: Tree, room: int, report: Report) -> None:
    over = len(to_json(event)) - room
    for slot in _slots(event) if over > 0 else ():
        if over > 0 and slot.name == "columnLineage" and isinstance(slot.value(), dict):
            before = slot.size()
            reduced, done = reduce_columns(slot.value(), max(before - over, 0))
            slot.container[slot.name] = reduced
            report.add(slot.path, done, before - slot.size())
            over -= before - slot.size()


def _remove_facets(event: Tree, room: int, report: Report) -> None:
    _remove(event, room, report, lambda name: name not in KNOWN)
    _remove(event, room, report, lambda name: name != "parent")


_STEPS: tuple[Callable[[Tree, int, Report], None], ...] = (
    _shorten_texts,
    _remove_properties,
    _reduce_columns,
    _remove_facets,
)


def _remove(event: Tree, room: int, report: Report, chosen: Callable[[str], bool]) -> None:
    """Remove the facets with chosen names, the largest first, until the event fits."""
    over = len(to_json(event)) - room
    if over <= 0:
        return
    sized = sorted(((slot.size(), slot) for slot in _slots(event) if chosen(slot.name)), key=lambda pair: -pair[0])
    for size, slot in sized:
        if over <= 0:
            return
        del slot.container[slot.name]
        report.add(slot.path, "removed", size)
        over -= size


def _slots(event: Tree) -> Iterator[Slot]:
    for _, path, facets in facets_of(event):
        for name in list(facets):
            yield Slot(facets, name, f"{path}/{pointer_token(name)}")
