"""What a table format counted when a write was committed.  Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Commit:
    """A version that a write made of a table; rows, bytes and files that it wrote, where the format counts them."""

    version: str
    rows: int | None = None
    size: int | None = None
    files: int | None = None


# As Delta's operationMetrics of each kind of write and Iceberg's snapshot summaries call them.
_ROWS = ("numOutputRows", "added-records")
_REWRITTEN = ("numUpdatedRows", "numCopiedRows")
_SIZE = ("numOutputBytes", "numTargetBytesAdded", "numAddedBytes", "added-files-size")
_FILES = ("numFiles", "numTargetFilesAdded", "numAddedFiles", "added-data-files")


def commit(version: str, told: str | Mapping[str, Any] | None) -> Commit:
    """A commit of what its format says of it: Delta's ``commitInfo`` as JSON, or an Iceberg snapshot's summary."""
    held = json.loads(told)["commitInfo"].get("operationMetrics") if isinstance(told, str) else told
    counters = {name: int(value) for name, value in (held or {}).items() if str(value).isdecimal()}
    rewritten = [counters[name] for name in _REWRITTEN if name in counters]
    rows = _first(counters, _ROWS)
    if rows is None and rewritten:
        rows = sum(rewritten)
    return Commit(version, rows, _first(counters, _SIZE), _first(counters, _FILES))


def _first(counters: Mapping[str, int], names: tuple[str, ...]) -> int | None:
    return next((counters[name] for name in names if name in counters), None)
