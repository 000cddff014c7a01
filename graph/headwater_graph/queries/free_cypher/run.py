"""Any question in Cypher that only reads, by the command line and by whoever may ask the server."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater_avro.errors import ConfigError, StoreRefused
from headwater_graph.queries.catalog.node_status import time_text
from headwater_graph.queries.reader import Neo4jReader

KEPT_BACK = ("LoadCSV", "ProcedureCall", "Show", "Terminate")
"""Beginnings of what others may not do: read files and addresses from Neo4j's place, look at the server, stop its work."""
SHOWN = ("ShowIndexes", "ShowConstraints")
"""What of it they may: it tells of the graph."""

LARGEST = 2**63
"""Neo4j's integers have 64 bits."""

DEEPEST = 100
"""How deep a parameter may be nested."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found: the names of the columns, rows of JSON values, and whether there are more rows."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    more: bool


@dataclass(frozen=True, slots=True)
class FreeCypher:
    """Free Cypher over a graph: at most so many seconds, at most so many rows.

    ``setting`` is what the one who asks may change to have more time. For ``strangers`` it is no way to anything but the graph.
    """

    reader: Neo4jReader
    seconds: float
    rows: int
    setting: str
    strangers: bool = False

    def within(self, rows: int) -> FreeCypher:
        """Return the same for so many rows at most."""
        return replace(self, rows=rows)

    def ask(self, text: str, parameters: Mapping[str, Any]) -> Found:
        """Return what is found.

        Raises ConfigError for a text or parameters that can't be used, that would write, take too long or go beyond the graph;
        ServerUnavailable.
        """
        _check_parameters(parameters)
        try:
            if self.strangers:
                _check_plan(*self.reader.plan(text, parameters))
            found = self.reader.run(text, parameters, self.seconds, self.rows + 1, self.setting)
        except StoreRefused as fault:
            raise ConfigError(_in_words(str(fault))) from fault
        columns = tuple(found[0].keys()) if found else ()
        rows = tuple({name: plain_value(row[name]) for name in columns} for row in found[: self.rows])
        return Found(columns, rows, len(found) > self.rows)


def _check_plan(kind: str, operators: Sequence[str]) -> None:
    if kind == "s" or any(each.startswith(KEPT_BACK) and each not in SHOWN for each in operators):
        raise ConfigError("only the graph can be asked here: no procedures, no LOAD CSV, nothing about the server")


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse what the driver could not send: it would fail in the middle of it."""
    level: list[Any] = [parameters]
    for _ in range(DEEPEST):
        if not level:
            return
        level = [inner for value in level for inner in _within(value)]
    raise ConfigError(f"a parameter is nested more than {DEEPEST} levels deep")


def _within(value: Any) -> Iterable[Any]:
    """What a value holds; raises ConfigError for one that can't be sent."""
    match value:
        case Mapping():
            return [*value.keys(), *value.values()]
        case list():
            return value
        case int() if not -LARGEST <= value < LARGEST:
            raise ConfigError("a parameter has an integer of more than 64 bits")
        case str() if any("\ud800" <= character <= "\udfff" for character in value):
            raise ConfigError("a parameter has half of a surrogate pair in its text")
        case _:
            return ()


def _in_words(refusal: str) -> str:
    return (
        "this would write: only reading is possible"
        if "AccessMode" in refusal
        else f"Neo4j does not take it: {refusal}"
    )


def plain_value(value: Any) -> Any:
    """Return a value of Neo4j as JSON values: times as specification 9 prints them, nodes and edges as their properties."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case bytes() | bytearray():
            return f"({len(value)} bytes)"
        case list() | tuple():
            return [plain_value(each) for each in value]
        case Mapping():
            return {str(name): plain_value(each) for name, each in value.items()}
        case _:
            return _graph_value(value)


def _graph_value(value: Any) -> Any:
    if hasattr(value, "nodes") and hasattr(value, "relationships"):
        return [plain_value(each) for each in (*value.nodes, *value.relationships)]
    if hasattr(value, "items"):
        return {str(name): plain_value(each) for name, each in value.items()}
    if hasattr(value, "to_native") and hasattr(value, "tzinfo"):
        return time_text(value) if value.tzinfo else value.iso_format()
    return value.iso_format() if hasattr(value, "iso_format") else str(value)
