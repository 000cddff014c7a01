"""Cypher by name: one statement per file, its purpose and parameters in the first comment lines."""

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


def asked(name: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a statement and its parameters as the server is to get them: all parameters in one map.

    The planner keeps a plan for each order of magnitude of a list or a text that is a parameter by itself. Lists of rows have
    any length, so each statement was planned five times; in a young server that took longer than its work.

    What a transaction reads and writes is planned once and stays so: it names each of its seeks, so the plan is right
    whatever the statistics say. As a graph grows each would else be planned again every few seconds.

    What only writes returns a count. The server answers a statement that returns nothing when it is carried out, and one
    that returns something as soon as it is planned: whoever asks has the time of the work for the next statement.
    """
    return _asked(name), {"given": _Given(parameters)}


@cache
def _asked(name: str) -> str:
    text = re.sub(r"\$(\w+)", r"$given.\1", cypher(name))
    options = "CYPHER replan=skip\n" if name.startswith(("read/", "write/")) else ""
    only_writes = name.startswith("write/") and "\nRETURN " not in text
    return options + text + ("\nRETURN count(*) AS done" if only_writes else "")


class _Given(dict[str, Any]):
    """Parameters that are not written out: the driver prepares a line for its log of whatever it sends, though nobody logs."""

    def __repr__(self) -> str:
        return f"{{{', '.join(self)}}}"


FOLDERS = ("read", "write", "check", "scan", "retain", "rebuild")
"""The folders of statements, each named by what its statements do."""


def names(folder: str) -> tuple[str, ...]:
    """Return the names of all statements of a folder, such as ``read/runs``."""
    files = (_FOLDER / folder).iterdir()
    return tuple(sorted(f"{folder}/{file.name.removesuffix('.cypher')}" for file in files))


def schema_statements() -> tuple[str, ...]:
    """Return the statements of ``schema.cypher``: constraints and indexes, each safe to run again."""
    lines = (line for line in cypher("schema").splitlines() if not line.startswith("//"))
    return tuple(part.strip() for part in "\n".join(lines).split(";") if part.strip())
