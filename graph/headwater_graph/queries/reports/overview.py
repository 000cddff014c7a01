"""An overview of the graph: how much is in it, and what may need attention."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.node_status import OPEN_STATES, RUN_TIMEOUT
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.history import JobVersionLine, job_versions
from headwater_graph.queries.runs.runs import RunFilter, RunLine, list_runs, run_line

LATEST_RUNS = 1_000
"""Among how many of the latest runs those are searched that made a new version of their job."""


@dataclass(frozen=True, slots=True)
class JobChange:
    """The current version of a job, made by a recent run, with the reasons for it."""

    job: tuple[str, ...]
    version: JobVersionLine

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        line = self.version
        return {
            "job": list(self.job),
            "number": line.number,
            "from": line.since,
            "madeBy": line.made_by,
            "reasons": list(line.reasons),
        }


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of jobs, datasets and runs, and the latest runs, failed runs, silent runs and changes of jobs."""

    counts: dict[str, int]
    failed: tuple[RunLine, ...]
    silent: tuple[RunLine, ...]
    latest: tuple[RunLine, ...]
    changes: tuple[JobChange, ...]

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        runs = {"failed": self.failed, "silent": self.silent, "latest": self.latest}
        lists = {name: [line.value() for line in lines] for name, lines in runs.items()}
        changes = [change.value() for change in self.changes]
        return {"counts": self.counts, **lists, "changes": changes, "isEmpty": not any(self.counts.values())}


def overview(reader: GraphReader, now: datetime, limit: int = 10) -> Overview:
    """Return the overview with at most ``limit`` items of each list, the latest first.

    The work does not grow with the graph: each list reads the end of an index, changes those of the ``LATEST_RUNS``.
    """
    (counts,) = reader.rows("catalog/counts")
    return Overview(
        counts={name: counts[name] for name in ("datasets", "jobs", "runs")},
        failed=_in_states(reader, ("FAIL",), now, now, limit, batch=False),
        silent=_in_states(reader, OPEN_STATES, now - RUN_TIMEOUT, now, limit, batch=True),
        latest=tuple(list_runs(reader, RunFilter(), now, limit)),
        changes=tuple(_changes(reader, limit)),
    )


def _in_states(
    reader: GraphReader, states: tuple[str, ...], until: datetime, now: datetime, limit: int, batch: bool
) -> tuple[RunLine, ...]:
    found: list[Row] = []
    for state in states:
        found += reader.rows("runs/latest_in_state", state=state, until=until, batch=batch, limit=limit)
    latest = heapq.nlargest(limit, found, key=lambda row: (row["lastEventAt"], row["id"]))
    return tuple(run_line(row, now) for row in latest)


def _changes(reader: GraphReader, limit: int) -> list[JobChange]:
    rows = reader.rows("versions/changed_jobs", runs=LATEST_RUNS, limit=limit)
    jobs = [Node(row["key"], "job", (row["namespace"], row["name"])) for row in rows]
    return [JobChange(job.name, line) for job in jobs for line in job_versions(reader, job, 1)]
