"""The counters of a table format's commits.  Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Commit:
    """A new version of a table, with the rows, bytes and files written, where the format counts them.

    ``is_first`` is whether the table did not exist before.
    """

    version: str
    rows: int | None = None
    size: int | None = None
    files: int | None = None
    is_first: bool = False


# Names of counters in Delta's operationMetrics, by kind of write, and in Iceberg's snapshot summaries.
_ROWS = ("numOutputRows", "added-records")
_REWRITTEN = ("numUpdatedRows", "numCopiedRows")
_SIZE = ("numOutputBytes", "numTargetBytesAdded", "numAddedBytes", "added-files-size")
_FILES = ("numFiles", "numTargetFilesAdded", "numAddedFiles", "added-data-files")


def commit(version: str, info: str | Mapping[str, Any] | None, is_first: bool = False) -> Commit:
    """Return the commit described by Delta's ``commitInfo`` as JSON, or by an Iceberg snapshot's summary."""
    metrics = json.loads(info)["commitInfo"].get("operationMetrics") if isinstance(info, str) else info
    counters = {name: int(value) for name, value in (metrics or {}).items() if str(value).isdecimal()}
    rewritten = [counters[name] for name in _REWRITTEN if name in counters]
    rows = _first(counters, _ROWS)
    if rows is None and rewritten:
        rows = sum(rewritten)
    return Commit(version, rows, _first(counters, _SIZE), _first(counters, _FILES), is_first)


def _first(counters: Mapping[str, int], names: tuple[str, ...]) -> int | None:
    return next((counters[name] for name in names if name in counters), None)
