"""Facets as operators spell them, converted to the spelling of the OpenLineage specification.

The names of members, the required members and the schema address of a facet come from openlineage-python's generated
classes. So ``Size``, ``row_count`` and the ``language`` of an error message become ``size``, ``rowCount`` and
``programmingLanguage``, at any depth, and every facet has ``_producer`` and ``_schemaURL``. The members of facets that the
specification does not define pass unchanged.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

import attr

from ...producer import Container, facet_class, facet_schema, producer
from .plain import plain

PRODUCER = producer("operators")
"""The ``producer`` of events, and the ``_producer`` of facets without one."""

Members: TypeAlias = dict[str, Any]
"""The members of a facet."""

# Spellings that the generated class does not have, by facet (docs/operators.md accepts them).
_ALIASES: dict[tuple[Container, str], dict[str, str]] = {
    ("run", "errorMessage"): {"language": "programmingLanguage"},
    ("run", "externalQuery"): {"queryid": "externalQueryId", "executionid": "externalQueryId"},
}
# Required members with a single sensible value, which operators may leave out.
_DEFAULTS: dict[tuple[Container, str], dict[str, object]] = {
    ("run", "errorMessage"): {"programmingLanguage": "python"},
    ("input", "dataQualityMetrics"): {"columnMetrics": {}},
}


def read_facet(container: Container, name: str, facet: object) -> tuple[Members | None, list[str]]:
    """Return the facet as the specification spells it (None if it cannot be used), and its problems."""
    members = plain(facet)
    if not isinstance(members, dict):
        return None, [f"{container} facet {name} is a {type(facet).__name__}, not an object: left out"]
    cls = facet_class(container, name)
    if cls is None:
        return _signed(members, container, name), []
    spelled = _respell(cls, members, _ALIASES.get((container, name), {}))
    complete = {**_DEFAULTS.get((container, name), {}), **spelled}
    missing = [] if complete.get("_deleted") is True else sorted(_required(cls) - complete.keys())
    if missing:
        return None, [f"{container} facet {name} lacks {', '.join(missing)}: left out"]
    return _signed(complete, container, name), []


def read_facets(container: Container, facets: object) -> tuple[dict[str, Members], list[str]]:
    """Return the facets of a container by name, and their problems."""
    if facets is None:
        return {}, []
    if not isinstance(facets, Mapping):
        return {}, [f"{container} facets are a {type(facets).__name__}, not an object: left out"]
    read: dict[str, Members] = {}
    problems: list[str] = []
    for name, facet in facets.items():
        members, faults = (None, []) if facet is None else read_facet(container, str(name), facet)
        problems += faults
        if members is not None:
            read[str(name)] = members
    return read, problems


def external_query(query_id: str, source: str) -> dict[str, Members]:
    """Return the run facet ``externalQuery`` under its name.

    ``query_id`` is the query's id in ``source``, the system that ran it, such as ``bigquery``.
    """
    return {"externalQuery": {"externalQueryId": query_id, "source": source}}


def _signed(members: Members, container: Container, name: str) -> Members:
    return {"_producer": PRODUCER, "_schemaURL": facet_schema(container, name), **members}


def _canonical(member: str) -> str:
    return member.replace("_", "").replace("-", "").lower()


@cache
def _spellings(cls: Any) -> dict[str, str]:
    return {_canonical(field.name): field.name for field in attr.fields(cls) if not field.name.startswith("_")}


@cache
def _required(cls: Any) -> frozenset[str]:
    return frozenset(field.name for field in attr.fields(cls) if field.default is attr.NOTHING)


@cache
def _hints(cls: Any) -> Members:
    return typing.get_type_hints(cls)


def _respell(cls: Any, members: Mapping[str, Any], aliases: Mapping[str, str]) -> Members:
    spellings, hints = {**_spellings(cls), **aliases}, _hints(cls)
    spelled: Members = {}
    # The specification's own spelling of a member wins over any other.
    for key, value in sorted(members.items(), key=lambda item: item[0] in hints):
        name = key if key.startswith("_") else spellings.get(_canonical(key), key)
        spelled[name] = _respell_value(hints.get(name), value)
    return spelled


def _respell_value(hint: Any, value: Any) -> Any:
    """Return the value with the members of nested facet parts respelled; keys of a mapping (column names) stay."""
    if hint is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(hint, type) and attr.has(hint):
        return _respell(hint, value, {}) if isinstance(value, dict) else value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is list and isinstance(value, list):
        return [_respell_value(arguments[0], item) for item in value]
    if origin is dict and isinstance(value, dict):
        return {key: _respell_value(arguments[1], item) for key, item in value.items()}
    if origin in (types.UnionType, typing.Union):
        parts = [hint for hint in arguments if hint is not type(None)]
        return _respell_value(parts[0], value) if len(parts) == 1 else value
    return value
