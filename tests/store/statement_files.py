"""The files that hold the statements of the store."""

from __future__ import annotations

from importlib import resources

FOLDERS = ("read", "write", "check", "scan", "retain", "rebuild")
"""The folders of statements (see ``cypher/README.md``)."""


def names(folder: str) -> tuple[str, ...]:
    """Return the names of all statements of a folder, such as ``read/runs``."""
    files = (resources.files("headwater_graph") / "cypher" / folder).iterdir()
    return tuple(sorted(f"{folder}/{file.name.removesuffix('.cypher')}" for file in files))
