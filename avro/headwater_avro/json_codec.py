"""OpenLineage JSON to events (specification 1): a fast path for well-formed RunEvents, and the full rules for the rest.

The fast path accepts only messages that it reads exactly as the full rules do, and leaves the others (with null members,
non-string names or unusual escapes) to ``read_value``. A property test compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Raw, Struct, field

from .canonical import Json, canonical, parse, text_of
from .errors import EventRejected
from .events import OTHER, RANK, DatasetEvent, Event, FacetTexts, JobEvent, ListedDataset, RunEvent, Side
from .names import Key, is_name
from .times import parse_time


class _Run(Struct):
    runId: str
    facets: dict[str, Raw] = field(default_factory=dict)


class _Named(Struct):
    namespace: str
    name: str
    facets: dict[str, Raw] = field(default_factory=dict)


class _Input(_Named):
    inputFacets: dict[str, Raw] = field(default_factory=dict)


class _Output(_Named):
    outputFacets: dict[str, Raw] = field(default_factory=dict)


class _Wire(Struct):
    eventTime: str
    run: _Run
    job: _Named
    eventType: str = "OTHER"
    inputs: list[_Input] = field(default_factory=list)
    outputs: list[_Output] = field(default_factory=list)


JsonObject: TypeAlias = dict[str, Json]

_decode = msgspec.json.Decoder(_Wire).decode


def read_event(message: bytes) -> Event:
    """Return the event in a JSON message.

    Raises EventRejected with a code of specification 8: ``not_decodable``, ``not_an_object``, ``not_an_event``,
    ``missing_identity``, ``bad_identity`` or ``bad_event_time``.
    """
    text_of(message)
    try:
        wire = _decode(message)
    except (msgspec.MsgspecError, RecursionError):
        return read_value(parse(message))
    return _run_event(wire) or read_value(parse(message))


def _run_event(wire: _Wire) -> RunEvent | None:
    run, job = wire.run, wire.job
    if not (is_name(run.runId) and is_name(job.namespace) and is_name(job.name)):
        return None
    inputs = _listed(wire.inputs, "inputFacets")
    outputs = _listed(wire.outputs, "outputFacets")
    if inputs is None or outputs is None:
        return None
    try:
        time = parse_time(wire.eventTime)
    except ValueError:
        return None
    rank = RANK.get(wire.eventType, OTHER)
    key = (job.namespace, job.name)
    return RunEvent(time, rank, run.runId, key, _texts(run.facets), _texts(job.facets), inputs, outputs)


def _texts(facets: dict[str, Raw]) -> FacetTexts:
    return {name: text for name, raw in facets.items() if (text := bytes(raw)) != b"null"}


def _listed(named: list[Any], own: str) -> Side | None:
    side: dict[Key, ListedDataset] = {}
    for dataset in named:
        if not (is_name(dataset.namespace) and is_name(dataset.name)):
            return None
        key = (dataset.namespace, dataset.name)
        _list(side, ListedDataset(key, _texts(dataset.facets), _texts(getattr(dataset, own))))
    return tuple(side.values())


def _list(side: dict[Key, ListedDataset], new: ListedDataset) -> None:
    """Add a dataset to a side; the facets of a repeated dataset are merged, the later one of a name wins (specification 1.6)."""
    known = side.setdefault(new.key, new)
    if known is not new:
        # In place: merging into new dictionaries would take quadratic time for a dataset listed many times.
        known.facets.update(new.facets)
        known.own.update(new.own)


# ---- the full rules, member by member --------------------------------------------------------------------------------


def read_value(value: Json | None) -> Event:
    """Return the event in a JSON value without nulls (specification 1.1 to 1.6).

    Raises EventRejected; if several codes apply, with the first in the order of specification 8.
    """
    if not isinstance(value, dict):
        raise EventRejected("not_an_object", "the message is not a JSON object")
    if "run" in value and "job" in value:
        return _read_run_event(value)
    if "job" in value:
        return _read_job_event(value)
    if "dataset" in value:
        return _read_dataset_event(value)
    raise EventRejected("not_an_event", "the message has neither a run and a job, nor a job, nor a dataset")


_MAX_FAULTS = 5
"""The number of faults of an event's identity that an error names."""


_JobParts: TypeAlias = tuple[Key, FacetTexts, Side, Side]
"""The key and facets of an event's job, its inputs and its outputs."""


class _Identity:
    """Collects the faults of an event's identity and reports the worst: missing before bad, identity before time."""

    def __init__(self, event: JsonObject) -> None:
        self.missing: list[str] = []
        self.bad: list[str] = []
        self.time = self.read(event, "eventTime", "", lambda _: True)

    def read(self, of: Mapping[str, Json], member: str, path: str, valid: Callable[[object], bool]) -> str:
        value = of.get(member)
        if value is None:
            _note(self.missing, path + member)
        elif not valid(value):
            _note(self.bad, path + member)
        return cast("str", value)

    def key(self, of: Mapping[str, Json], path: str) -> Key:
        return (self.read(of, "namespace", path, is_name), self.read(of, "name", path, is_name))

    def side(self, event: JsonObject, member: str, own: str) -> Side:
        datasets = event.get(member, [])
        if not isinstance(datasets, list):
            _note(self.missing, member)
            return ()
        side: dict[Key, ListedDataset] = {}
        for number, item in enumerate(datasets):
            dataset = _object(item)
            key = self.key(dataset, f"{member}[{number}].")
            if is_name(key[0]) and is_name(key[1]):
                _list(side, ListedDataset(key, _facet_texts(dataset.get("facets")), _facet_texts(dataset.get(own))))
        return tuple(side.values())

    def job(self, event: JsonObject) -> _JobParts:
        job = _object(event.get("job"))
        key = self.key(job, "job.")
        inputs = self.side(event, "inputs", "inputFacets")
        return key, _facet_texts(job.get("facets")), inputs, self.side(event, "outputs", "outputFacets")

    def event_time(self) -> int:
        """Return the event's time; raises EventRejected for the worst fault."""
        if self.missing:
            raise EventRejected("missing_identity", "missing: " + ", ".join(self.missing))
        if self.bad:
            why = "must be non-empty strings of at most 2000 characters without control characters: "
            raise EventRejected("bad_identity", why + ", ".join(self.bad))
        if not isinstance(self.time, str):
            raise EventRejected("bad_event_time", "eventTime is not a string")
        try:
            return parse_time(self.time)
        except ValueError as fault:
            raise EventRejected("bad_event_time", str(fault)) from None


def _note(faults: list[str], member: str) -> None:
    # Only as many as an error names: a list of millions of empty objects has millions of faults.
    if len(faults) < _MAX_FAULTS:
        faults.append(member)


def _object(value: Json | None) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _facet_texts(facets: Json | None) -> FacetTexts:
    return {name: canonical(facet).encode() for name, facet in _object(facets).items()}


def _read_run_event(event: JsonObject) -> RunEvent:
    identity = _Identity(event)
    run = _object(event["run"])
    run_id = identity.read(run, "runId", "run.", is_name)
    key, job_facets, inputs, outputs = identity.job(event)
    type_name = event.get("eventType")
    rank = RANK.get(type_name, OTHER) if isinstance(type_name, str) else OTHER
    run_facets = _facet_texts(run.get("facets"))
    return RunEvent(identity.event_time(), rank, run_id, key, run_facets, job_facets, inputs, outputs)


def _read_job_event(event: JsonObject) -> JobEvent:
    identity = _Identity(event)
    parts = identity.job(event)
    return JobEvent(identity.event_time(), *parts, canonical(event))


def _read_dataset_event(event: JsonObject) -> DatasetEvent:
    identity = _Identity(event)
    dataset = _object(event["dataset"])
    key = identity.key(dataset, "dataset.")
    return DatasetEvent(identity.event_time(), key, _facet_texts(dataset.get("facets")), canonical(event))
