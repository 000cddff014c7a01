"""Cypher by name: each file holds one statement, and states its purpose and its parameters in its first comment lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

_FOLDER = resources.files("headwater_graph") / "cypher"


@cache
def cypher(name: str) -> str:
    """Return the text of ``cypher/<name>.cypher``; a line ``{{fragments/other}}`` is replaced by the text of that file."""
    text = (_FOLDER / f"{name}.cypher").read_text()
    return re.sub(r"\{\{([\w/]+)\}\}\n", lambda other: cypher(other[1]), text)


def prepared(name: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a statement and its parameters as they are sent to the server: all parameters in one map.

    - The planner makes a plan for each order of magnitude of a parameter that is a list or a text. Lists of rows have any
      length, so each statement was planned five times, which took longer than its work on a server that had just started.
      A map has no such magnitude.
    - Statements of ``read`` and ``write`` are planned once (``replan=skip``). They name each of their index seeks, so the plan
      is right whatever the statistics are; without the option, a growing graph would plan them again every few seconds.
    - Statements that only write return a count. The server answers a statement that returns nothing when it is finished, and
      another one as soon as it is planned, so the caller can prepare the next statement while the server works.
    """
    return _prepared_text(name), {"given": _Parameters(parameters)}


@cache
def _prepared_text(name: str) -> str:
    text = re.sub(r"\$(\w+)", r"$given.\1", cypher(name))
    options = "CYPHER replan=skip\n" if name.startswith(("read/", "write/")) else ""
    only_writes = name.startswith("write/") and "\nRETURN " not in text
    return options + text + ("\nRETURN count(*) AS done" if only_writes else "")


class _Parameters(dict[str, Any]):
    """Parameters whose representation has only their names: the driver formats a debug line for all that it sends."""

    def __repr__(self) -> str:
        return f"{{{', '.join(self)}}}"


def schema_statements() -> tuple[str, ...]:
    """Return the statements of ``schema.cypher``: constraints and indexes, each safe to run again."""
    lines = (line for line in cypher("schema").splitlines() if not line.startswith("//"))
    return tuple(part.strip() for part in "\n".join(lines).split(";") if part.strip())
