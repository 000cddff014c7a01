"""Cypher by name: one statement per file, its purpose and parameters in the first comment lines."""

from __future__ import annotations

from functools import cache
from importlib import resources

_FOLDER = resources.files("headwater_graph") / "cypher"


@cache
def cypher(name: str) -> str:
    """Return the text of ``cypher/<name>.cypher``."""
    return (_FOLDER / f"{name}.cypher").read_text()


def names(prefix: str) -> tuple[str, ...]:
    """Return the names of all statements that begin with a prefix: ``read_``, ``write_`` or ``scan_``."""
    found = (file.name.removesuffix(".cypher") for file in _FOLDER.iterdir())
    return tuple(sorted(name for name in found if name.startswith(prefix)))


def schema_statements() -> tuple[str, ...]:
    """Return the statements of ``schema.cypher``: constraints and indexes, each safe to run again."""
    lines = (line for line in cypher("schema").splitlines() if not line.startswith("//"))
    return tuple(part.strip() for part in "\n".join(lines).split(";") if part.strip())
