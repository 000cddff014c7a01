"""Free Cypher that only reads, for the command line and for clients of the server."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater_avro.errors import ConfigError, StoreRefused
from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.queries.values import time_text

FORBIDDEN_OPERATORS = ("LoadCSV", "ProcedureCall", "Show", "Terminate")
"""Prefixes of operators that strangers may not use: they read files and addresses on Neo4j's host, or concern the server."""
ALLOWED_OPERATORS = ("ShowIndexes", "ShowConstraints")
"""Operators that have such a prefix, and only describe the graph."""

LARGEST = 2**63
"""Neo4j's integers have 64 bits."""

DEEPEST = 100
"""How deep a parameter may be nested."""


@dataclass(frozen=True, slots=True)
class CypherResult:
    """The names of the columns, rows of JSON values, and whether there are more rows."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    more: bool


@dataclass(frozen=True, slots=True)
class FreeCypher:
    """Free Cypher with limits on seconds, rows and the bytes of the rows as JSON (None: no limit).

    ``setting`` is the setting that the error for a timeout names. For ``strangers`` only the graph can be read.
    """

    reader: Neo4jReader
    seconds: float
    rows: int
    setting: str
    strangers: bool = False
    bytes: int | None = None

    def within(self, rows: int) -> FreeCypher:
        """Return the same with another limit on rows."""
        return replace(self, rows=rows)

    def run(self, text: str, parameters: Mapping[str, Any]) -> CypherResult:
        """Return the result of a text.

        Raises ConfigError for a text or parameters that are invalid, that would write, take too long or read more than the
        graph; ServerUnavailable.
        """
        _check_parameters(parameters)
        answer = _Answer(self.rows, self.bytes)
        is_last = None if self.bytes is None else answer.is_last
        try:
            if self.strangers:
                _check_plan(*self.reader.plan(text, parameters))
            found = self.reader.run(text, parameters, self.seconds, self.rows + 1, self.setting, is_last)
        except StoreRefused as fault:
            raise ConfigError(_refusal_text(str(fault))) from fault
        if is_last is None:
            for row in found:
                answer.is_last(row)
        return answer.result()


class _Answer:
    """The rows of an answer as far as they are within its limits."""

    def __init__(self, rows: int, size: int | None) -> None:
        self._most_rows, self._left = rows, size
        self._columns: tuple[str, ...] = ()
        self._rows: list[dict[str, Any]] = []
        self._more = False

    def is_last(self, row: Mapping[str, Any]) -> bool:
        """Take a row; return whether the answer is complete. Raises ConfigError if the first row alone is too large."""
        self._columns = tuple(row.keys())
        if len(self._rows) == self._most_rows:
            self._more = True
            return True
        plain = {name: plain_value(row[name]) for name in self._columns}
        if self._left is not None:
            self._left -= len(json.dumps(plain))
            if self._left < 0:
                if not self._rows:
                    raise ConfigError(
                        "a row is larger than an answer may be: return less of it, or raise the limit of bytes"
                    )
                self._more = True
                return True
        self._rows.append(plain)
        return False

    def result(self) -> CypherResult:
        """Return what has been taken."""
        return CypherResult(self._columns, tuple(self._rows), self._more)


def _check_plan(kind: str, operators: Sequence[str]) -> None:
    if kind == "s" or any(name.startswith(FORBIDDEN_OPERATORS) and name not in ALLOWED_OPERATORS for name in operators):
        raise ConfigError("only the graph can be read here: no procedures, no LOAD CSV, nothing about the server")


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse what the driver could not send: it would fail halfway."""
    level: list[Any] = [parameters]
    for _ in range(DEEPEST):
        if not level:
            return
        level = [inner for value in level for inner in _within(value)]
    raise ConfigError(f"a parameter is nested more than {DEEPEST} levels deep")


def _within(value: Any) -> Iterable[Any]:
    """Return the values inside a value; raises ConfigError for one that can't be sent."""
    match value:
        case Mapping():
            return [*value.keys(), *value.values()]
        case list():
            return value
        case int() if not -LARGEST <= value < LARGEST:
            raise ConfigError("a parameter contains an integer of more than 64 bits: send it as text")
        case str() if any("\ud800" <= character <= "\udfff" for character in value):
            raise ConfigError("a parameter contains half of a surrogate pair: send valid Unicode")
        case _:
            return ()


def _refusal_text(refusal: str) -> str:
    return "this would write: only reading is possible" if "AccessMode" in refusal else f"Neo4j refuses it: {refusal}"


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
            return [plain_value(item) for item in value]
        case _:
            return _graph_value(value)


def _graph_value(value: Any) -> Any:
    if hasattr(value, "nodes") and hasattr(value, "relationships"):
        return [plain_value(item) for item in (*value.nodes, *value.relationships)]
    if hasattr(value, "items"):
        return {str(name): plain_value(item) for name, item in value.items()}
    if hasattr(value, "to_native") and hasattr(value, "tzinfo"):
        return time_text(value) if value.tzinfo else value.iso_format()
    return value.iso_format() if hasattr(value, "iso_format") else str(value)
