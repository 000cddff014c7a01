"""What is missing or unusual in the graph: each report is one question about all of it, with a limit on its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from headwater_avro.names import node_key
from headwater_avro.times import format_time
from headwater_graph.queries.catalog.activity import active_keys
from headwater_graph.queries.catalog.node_status import RUN_TIMEOUT
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.values import time_text

HISTORY = 10
"""The number of newest versions of a dataset from which its usual period is computed."""

PATIENCE = 2
"""The number of usual periods without a write after which a dataset that is still read counts as stale."""


@dataclass(frozen=True, slots=True)
class Report:
    """A list of findings: ``head`` names the columns of ``rows``, counts are numbers; ``truncated`` is whether there are more."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]
    truncated: bool = False

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        rows = [dict(zip(self.head, row, strict=True)) for row in self.rows]
        return {"report": self.name, "title": self.title, "rows": rows, "cut": self.truncated}


@dataclass(frozen=True, slots=True)
class _ReportKind:
    title: str
    head: tuple[str, ...]
    read: Callable[[Iterable[Row]], Iterable[tuple[str, ...]]] | None = None


def _texts(rows: Iterable[Row]) -> Iterable[tuple[str, ...]]:
    for row in rows:
        yield tuple(_text(value) for value in row.values())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else time_text(value) or ""


def _conflicts(rows: Iterable[Row]) -> Iterable[tuple[str, ...]]:
    for row in rows:
        others = ", ".join(" ".join(key) for key in json.loads(row["conflicts"]))
        yield (row["namespace"] or "", row["job"] or "", row["run"], others)


def _stale(rows: Iterable[Row]) -> Iterable[tuple[str, ...]]:
    for row in rows:
        period = usual_period(row["moments"])
        late = row["lastRead"] - row["moments"][0]
        if period is not None and late > PATIENCE * period:
            times = (format_time(row["moments"][0]), format_time(row["lastRead"]))
            yield (row["namespace"], row["dataset"], *times, str(timedelta(microseconds=period)))


def usual_period(moments: list[int]) -> int | None:
    """Return the median time between writes, given their times, the newest first; None with fewer than three.

    >>> usual_period([100, 60, 50, 40])
    10
    """
    return int(median(newer - older for newer, older in pairwise(moments))) if len(moments) > 2 else None


_KINDS: dict[str, _ReportKind] = {
    "silent": _ReportKind(
        "batch runs that have not ended and of which nothing is heard",
        ("namespace", "job", "run", "heard"),
    ),
    "conflicts": _ReportKind(
        "runs whose events name several jobs",
        ("namespace", "job", "run", "also named"),
        _conflicts,
    ),
    "unknown": _ReportKind("jobs whose lineage is unknown", ("namespace", "job", "since", "last run")),
    "no-outputs": _ReportKind("jobs that have inputs and no outputs", ("namespace", "job", "since", "last run")),
    "unmade": _ReportKind("datasets that are read and that nothing ever made", ("namespace", "dataset")),
    "orphaned": _ReportKind(
        "datasets that are read and that no job writes any more",
        ("namespace", "dataset", "written"),
    ),
    "unread": _ReportKind("datasets that are written and that nobody reads", ("namespace", "dataset", "written")),
    "stale": _ReportKind(
        "datasets that are still read, and not written for long",
        ("namespace", "dataset", "written", "read", "usually every"),
        _stale,
    ),
}

MOST = 100_000
"""How many findings are read where only those on active jobs and datasets are wanted."""

REPORTS = tuple(_KINDS)
"""The names of all reports."""

MISSING = ("unknown", "no-outputs", "unmade", "orphaned", "unread", "stale")
"""The reports of what is missing from the graph."""


def report(
    reader: GraphReader,
    name: str,
    now: datetime,
    limit: int = 100,
    skip: int = 0,
    active_since: datetime | None = None,
) -> Report:
    """Return one of ``REPORTS`` without its first ``skip`` findings; KeyError for another name.

    With ``active_since`` it has findings on active jobs and datasets only (see ``activity``).
    """
    kind = _KINDS[name]
    most = skip + limit + 1 if active_since is None else MOST
    given: dict[str, dict[str, object]] = {
        "silent": {"before": now - RUN_TIMEOUT, "limit": most},
        "stale": {"history": HISTORY, "least": timedelta(minutes=1) // timedelta(microseconds=1)},
    }
    rows = reader.rows(f"reports/{name.replace('-', '_')}", **given.get(name, {"limit": most}))
    read = tuple((kind.read or _texts)(rows))
    found = (read if active_since is None else _of_active(reader, kind.head[1], read, active_since))[skip:]
    return Report(name, kind.title, kind.head, found[:limit], len(found) > limit)


def _of_active(
    reader: GraphReader, kind: str, rows: tuple[tuple[str, ...], ...], since: datetime
) -> tuple[tuple[str, ...], ...]:
    """Return the findings on active jobs or datasets, which are named by the first two columns."""
    keys = [node_key(kind, row[0], row[1]) for row in rows]
    active = active_keys(reader, kind, keys, since)
    return tuple(row for row, key in zip(rows, keys, strict=True) if key in active)
