"""The runs of jobs as a catalogue shows them: pages of one job's runs, and the latest runs of several jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater_graph.queries.keys import run_node_key
from headwater_graph.queries.reader import GraphReader, Row

MOST_OPEN = 10_000
"""How many of the latest open runs of each state are read to find those of some jobs."""


def runs_page(reader: GraphReader, job: str, limit: int, offset: int) -> tuple[list[Row], int]:
    """Return a page of the runs of a job (its key), the latest first, with their records, and how many there are in all."""
    rows = reader.rows("runs/page_of_job", job=job, limit=limit, offset=offset)
    if rows:
        return rows, rows[0]["total"]
    return [], reader.rows("runs/count_of_job", job=job)[0]["total"] if offset else 0


def open_runs(reader: GraphReader, jobs: Sequence[str] | None = None) -> list[Row]:
    """Return the open runs of some jobs (their keys), or of all, among the latest ``MOST_OPEN`` of each state."""
    return reader.rows("runs/latest_open", keys=None if jobs is None else list(jobs), most=MOST_OPEN)


def latest_runs(reader: GraphReader, jobs: Sequence[str], limit: int) -> dict[str, list[Row]]:
    """Return the latest runs of each of some jobs by its key, at most ``limit`` of each, the latest first."""
    if not jobs:
        return {}
    found: dict[str, dict[str, Row]] = {}
    for row in (*open_runs(reader, jobs), *reader.rows("runs/latest_of_jobs", keys=list(jobs), limit=limit)):
        found.setdefault(row["at"], {})[row["id"]] = row
    return {job: latest_first(runs.values())[:limit] for job, runs in found.items()}


def latest_first(runs: Iterable[Row]) -> list[Row]:
    """Return runs in the order of lists: those with the latest last event first."""
    return sorted(runs, key=lambda row: (row["lastEventAt"], row["id"]), reverse=True)


def run_records(reader: GraphReader, ids: Iterable[str | None]) -> dict[str, Row]:
    """Return runs with their records by run id; those that the graph does not have are left out."""
    keys = sorted({run_node_key(run_id) for run_id in ids if run_id})
    return {row["id"]: row for row in reader.rows("runs/nodes_with_records", keys=keys)} if keys else {}
