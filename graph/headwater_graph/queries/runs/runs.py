"""Runs: lists of them, and the details of one (specification 2, 3, 5)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.node_status import OPEN_STATES, RUN_TIMEOUT
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.run_view import EMPTY_RUN_VIEW, RunView, run_view
from headwater_graph.queries.values import present, time_text

MAX_CHILDREN, MAX_LEVELS = 1_000, 50


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list contains; ``job``, ``dataset`` and ``parent`` are keys of nodes, times are those of the last event.

    ``before`` is the position after which the list begins: (time of the last event, run id) of the last run seen.
    """

    job: str | None = None
    dataset: str | None = None
    parent: str | None = None
    state: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    silent: bool = False
    before: tuple[datetime, str] | None = None


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run of a list; times as specification 9 prints them, the duration in seconds."""

    id: str
    job: tuple[str, str] | None
    state: str | None
    started: str | None
    ended: str | None
    last_event: str | None
    seconds: float | None
    status: tuple[str, ...] = ()

    def value(self) -> dict[str, Any]:
        """Return the line as JSON values."""
        values = {
            "id": self.id,
            "job": self.job and list(self.job),
            "state": self.state,
            "startedAt": self.started,
            "endedAt": self.ended,
            "lastEventAt": self.last_event,
            "seconds": self.seconds,
        }
        return present(values) | {"marks": list(self.status)}


def list_runs(reader: GraphReader, wanted: RunFilter, now: datetime, limit: int = 50) -> list[RunLine]:
    """Return runs, those with the latest last event first."""
    before_time, before_id = wanted.before or (None, None)
    parameters = {
        "job": wanted.job,
        "dataset": wanted.dataset,
        "parent": wanted.parent,
        "states": _states(wanted),
        "since": wanted.since,
        "until": now - RUN_TIMEOUT if wanted.silent else wanted.until,
        "batch": wanted.silent,
        "beforeTime": before_time,
        "beforeId": before_id,
        "limit": limit,
    }
    return [run_line(row, now) for row in reader.rows(_question(wanted), **parameters)]


def _question(wanted: RunFilter) -> str:
    """Return the question that begins at the most selective filter."""
    if wanted.parent is not None:
        return "runs/of_parent"
    if wanted.job is not None:
        return "runs/of_job"
    return "runs/latest" if wanted.dataset is None else "runs/of_dataset"


def _states(wanted: RunFilter) -> list[str] | None:
    if wanted.silent:
        return list(OPEN_STATES)
    return None if wanted.state is None else [wanted.state]


def run_line(row: Row, now: datetime) -> RunLine:
    """Return a row of a list of runs as a value."""
    job = None if row["namespace"] is None else (row["namespace"], row["name"])
    return RunLine(
        id=row["id"],
        job=job,
        state=row["state"],
        started=time_text(row["startedAt"]),
        ended=time_text(row["endedAt"]),
        last_event=time_text(row["lastEventAt"]),
        seconds=_seconds(row, now),
        status=run_status(row, now),
    )


def _seconds(row: Row, now: datetime) -> float | None:
    """Return the duration of a run: until its end, or until now while it runs."""
    started, ended = row["startedAt"], row["endedAt"]
    if started is None or (ended is None and row["state"] not in OPEN_STATES):
        return None
    end: datetime = now if ended is None else ended.to_native()
    begin: datetime = started.to_native()
    return max(0.0, (end - begin).total_seconds())


def run_status(row: Row, now: datetime) -> tuple[str, ...]:
    """Return the status of a run (specification 1.7, 2.5, 2.9, 3.1, 3.4)."""
    last = row["lastEventAt"]
    timed_out = last is not None and last.to_native() < now - RUN_TIMEOUT
    status = (
        ("removed", bool(row["removed"])),
        ("placeholder", bool(row["placeholder"]) and not row["removed"]),
        ("streaming", bool(row["streaming"])),
        ("silent", row["state"] in OPEN_STATES and not row["streaming"] and timed_out),
        ("lineage unknown", bool(row["lineageUnknown"])),
        ("conflicts", row["conflicts"] is not None),
    )
    return tuple(name for name, holds in status if holds)


@dataclass(frozen=True, slots=True)
class VersionUse:
    """A dataset version that a run read or wrote; ``made_by`` is the run that made it, None for an external version."""

    dataset: tuple[str, str]
    version: str | None
    made_by: str | None = None
    at: str | None = None
    external: str | None = None
    schema: list[list[str]] | None = None

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        facts = {"version": self.version, "madeBy": self.made_by, "at": self.at, "external": self.external}
        return present({"dataset": list(self.dataset), **facts, "schema": self.schema})


@dataclass(frozen=True, slots=True)
class Child:
    """A child run, and its children."""

    run: RunLine
    children: tuple[Child, ...] = ()

    def value(self) -> dict[str, Any]:
        """Return the tree as JSON values."""
        return self.run.value() | {"children": [child.value() for child in self.children]}


@dataclass(frozen=True, slots=True)
class RunDetails:
    """One run with all that is known of it; ``more_children`` is whether the tree is truncated at ``MAX_CHILDREN`` runs."""

    run: RunLine
    version: str | None
    code_version: str | None
    made_version: bool
    error: str | None
    parent: str | None
    conflicts: list[list[str]]
    reads: tuple[VersionUse, ...]
    writes: tuple[VersionUse, ...]
    children: tuple[Child, ...]
    more_children: bool
    view: RunView = EMPTY_RUN_VIEW

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        facts = {
            "jobVersion": self.version,
            "madeThisJobVersion": self.made_version or None,
            "codeVersion": self.code_version,
            "error": self.error,
            "parent": self.parent,
            "conflicts": self.conflicts,
        }
        sides = {"reads": [use.value() for use in self.reads], "writes": [use.value() for use in self.writes]}
        children = {"children": [child.value() for child in self.children], "childrenCut": self.more_children}
        return self.run.value() | present(facts) | sides | children | {"facets": self.view.value()}


def the_row(run: Node, rows: Sequence[Row]) -> Row:
    """Return the row of a run; raises NotFound if there is none."""
    if not rows:
        raise NotFound(f"the graph has no run {run.name[0]!r}")
    return rows[0]


def show_run(reader: GraphReader, run: Node, now: datetime) -> RunDetails:
    """Return one run: the versions that it read and wrote, its children, conflicts and facets.

    Raises NotFound if the graph has no such run.
    """
    row = the_row(run, reader.rows("runs/details", key=run.key))
    children, more = child_runs(reader, run.key, now)
    return RunDetails(
        run=run_line(row, now),
        version=row["version"],
        code_version=row["codeVersion"],
        made_version=row["versionMadeBy"] == row["id"],
        error=row["error"],
        parent=row["parent"],
        conflicts=json.loads(row["conflicts"]) if row["conflicts"] else [],
        reads=tuple(version_use(version) for version in reader.rows("runs/reads", key=run.key)),
        writes=tuple(version_use(version) for version in reader.rows("runs/writes", key=run.key)),
        children=children,
        more_children=more,
        view=run_view(row["record"]),
    )


def version_use(row: Row) -> VersionUse:
    """Return a row of a dataset version as a value."""
    schema = json.loads(row["schema"]) if row["schema"] else None
    dataset = (row["namespace"], row["name"])
    return VersionUse(dataset, row["version"], row["madeBy"], time_text(row["at"]), row["external"], schema)


def child_runs(reader: GraphReader, key: str, now: datetime) -> tuple[tuple[Child, ...], bool]:
    """Return the runs below a run, and whether there are more; a run is shown once, even if a parent names itself."""
    under: dict[str, list[str]] = {}
    lines: dict[str, RunLine] = {}
    level, seen = [key], {key}
    for _ in range(MAX_LEVELS):
        if not level or len(seen) > MAX_CHILDREN:
            break
        rows = reader.rows("runs/children", keys=level, limit=MAX_CHILDREN + 1 - len(seen))
        fresh = [row for row in rows if row["key"] not in seen]
        for row in fresh:
            under.setdefault(row["at"], []).append(row["key"])
            lines[row["key"]] = run_line(row, now)
        level = [row["key"] for row in fresh]
        seen.update(level)
    return _tree(key, under, lines), bool(level) or len(seen) > MAX_CHILDREN


def _tree(key: str, under: Mapping[str, Sequence[str]], lines: Mapping[str, RunLine]) -> tuple[Child, ...]:
    return tuple(Child(lines[child], _tree(child, under, lines)) for child in under.get(key, ()))
