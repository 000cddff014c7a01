"""Validation of events by openlineage-python's classes, and by JSON schemas if a folder of them is given.

The classes are generated from OpenLineage's schemas, so they find missing and mistyped members without any file.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

import attr
import msgspec
from openlineage.client import event_v2
from openlineage.client.generated import base

from ..producer import BASES, CLASSES, facet_class
from .wire import Tree, facets_of, pointer_token

# A facet whose class the installed openlineage-python lacks is not checked.
_FACETS: dict[type, dict[str, Any]] = {
    getattr(base, name): {
        key: cls for of, key in CLASSES if of == container and (cls := facet_class(of, key)) is not None
    }
    for container, name in BASES.items()
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of an event: where (a JSON pointer, RFC 6901) and what."""

    pointer: str
    what: str


Faults: TypeAlias = Iterator[Fault]


def faults_of_line(line: bytes, schemas: Schemas | None = None) -> list[Fault]:
    """Return all faults of one event's JSON text."""
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return [Fault("", f"not JSON: {fault}")]
    if not isinstance(event, dict):
        return [Fault("", "must be an object")]
    kind = _kind(event)
    if kind is None:
        return [Fault("", "must have a run with a job, or a job, or a dataset")]
    found = [*_of_class(event, kind, ""), *(schemas.faults(event, kind.__name__) if schemas else ())]
    return sorted(set(found), key=lambda fault: (fault.pointer, fault.what))


def _kind(event: Mapping[str, Any]) -> Any:
    members = {name for name in ("run", "job", "dataset") if event.get(name) is not None}
    if {"run", "job"} <= members:
        return event_v2.RunEvent
    if "job" in members:
        return event_v2.JobEvent
    return event_v2.DatasetEvent if "dataset" in members else None


def _of_class(value: Any, kind: Any, at: str) -> Faults:
    if not isinstance(value, dict):
        yield Fault(at, f"must be an object ({kind.__name__})")
        return
    hints = typing.get_type_hints(kind)
    for attribute in attr.fields(kind):
        pointer = f"{at}/{attribute.name}"
        if value.get(attribute.name) is None:
            if attribute.default is attr.NOTHING:
                yield Fault(pointer, "is missing")
        else:
            yield from _of_hint(value[attribute.name], hints[attribute.name], pointer)
            yield from _of_validator(value[attribute.name], attribute, pointer)


def _of_validator(value: Any, attribute: Any, at: str) -> Faults:
    if attribute.validator is None or not isinstance(value, str):
        return
    try:
        attribute.validator(None, attribute, value)
    except (ValueError, TypeError, OverflowError) as fault:
        yield Fault(at, str(fault))


def _of_hint(value: Any, hint: Any, at: str) -> Faults:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        yield from _of_union(value, [a for a in arguments if a is not type(None)], at)
    elif origin is list:
        if not isinstance(value, list):
            yield Fault(at, "must be a list")
            return
        for index, item in enumerate(value):
            yield from _of_hint(item, arguments[0], f"{at}/{index}")
    elif origin is dict:
        yield from _of_mapping(value, arguments[1], at)
    elif isinstance(hint, type):
        yield from _of_type(value, hint, at)


def _of_union(value: Any, kinds: list[Any], at: str) -> Faults:
    found = [list(_of_hint(value, kind, at)) for kind in kinds]
    yield from min(found, key=len, default=[])


def _of_mapping(value: Any, kind: Any, at: str) -> Faults:
    if not isinstance(value, dict):
        yield Fault(at, "must be an object")
        return
    known = _FACETS.get(kind, {})
    for key, item in value.items():
        pointer = f"{at}/{pointer_token(key)}"
        if isinstance(item, dict) and item.get("_deleted") is True and kind in _FACETS:
            continue
        yield from _of_hint(item, known.get(key, kind), pointer)


def _of_type(value: Any, kind: type, at: str) -> Faults:
    if attr.has(kind):
        yield from _of_class(value, kind, at)
    elif issubclass(kind, Enum):
        if value not in (allowed := [member.value for member in kind]):
            yield Fault(at, f"must be one of {', '.join(map(str, allowed))}")
    elif kind is float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            yield Fault(at, "must be a number")
    elif kind in (str, int, bool) and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        yield Fault(at, f"must be a {'string' if kind is str else 'boolean' if kind is bool else 'whole number'}")


class Schemas:
    """A folder of OpenLineage's JSON schemas: ``OpenLineage.json``, and facets in any folder below.

    Raises ImportError without the package jsonschema, ValueError if the folder has no ``OpenLineage.json``.
    """

    def __init__(self, folder: Path) -> None:
        from jsonschema import Draft202012Validator
        from referencing import Registry, Resource
        from referencing.exceptions import NoSuchResource
        from referencing.jsonschema import DRAFT202012

        documents = {path.name: _read(path) for path in sorted(folder.rglob("*.json"))}
        if "OpenLineage.json" not in documents:
            raise ValueError(f"there is no OpenLineage.json in {folder}")

        def retrieve(uri: str) -> Any:
            # A facet names the version of the core schema that it was written for; any version of the file is used.
            name = uri.rpartition("/")[2]
            if name not in documents:
                raise NoSuchResource(ref=uri)  # type: ignore[call-arg]
            return Resource.from_contents(documents[name], default_specification=DRAFT202012)

        registry: Any = Registry(retrieve=retrieve)  # type: ignore[call-arg]
        self._make: Callable[[str], Any] = lambda ref: Draft202012Validator({"$ref": ref}, registry=registry)
        self._core = documents["OpenLineage.json"]["$id"]
        self._facets = {key: ref for document in documents.values() for key, ref in _facet_refs(document)}
        self._validators: dict[str, Any] = {}

    def faults(self, event: Tree, kind: str) -> Faults:
        """Yield the faults of an event of this kind (``RunEvent``, …), and of its facets that have a schema."""
        yield from self._check(event, f"{self._core}#/$defs/{kind}", "")
        for container, at, facets in facets_of(event):
            for key, facet in facets.items():
                ref = self._facets.get((BASES[container], key))
                if ref is not None and not (isinstance(facet, dict) and facet.get("_deleted") is True):
                    yield from self._check(facet, ref, f"{at}/{pointer_token(key)}")

    def _check(self, value: Any, ref: str, at: str) -> Faults:
        validator = self._validators.setdefault(ref, self._make(ref))
        for error in validator.iter_errors(value):
            path = "".join(f"/{pointer_token(str(step))}" for step in error.absolute_path)
            yield Fault(at + path, error.message[:300])


def _read(path: Path) -> dict[str, Any]:
    parsed = json.loads(path.read_text(encoding="utf-8"))
    return parsed if isinstance(parsed, dict) else {}


def _facet_refs(document: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    # A facet's file states its key, and by the class that it extends what it belongs to.
    for key, property_schema in document.get("properties", {}).items():
        name = str(property_schema.get("$ref", "")).rpartition("/")[2]
        definition = document.get("$defs", {}).get(name, {})
        for part in definition.get("allOf", ()):
            container = str(part.get("$ref", "")).rpartition("/")[2]
            if container.endswith("Facet"):
                yield (container, key), f"{document['$id']}#/$defs/{name}"
