"""Pages of jobs and datasets by namespace, with the details that a catalogue shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headwater_graph.model.facet_properties import facets_of
from headwater_graph.model.tags import tags_of
from headwater_graph.queries.keys import run_node_key
from headwater_graph.queries.reader import GraphReader, Row

Listed = Literal["job", "dataset"]
MOST_TAGGED = 100_000
"""How many jobs, and how many datasets, are read to list the tags that there are."""


def namespaces(reader: GraphReader) -> list[str]:
    """Return the namespaces of all jobs and datasets, sorted."""
    return [row["name"] for row in reader.rows("catalog/namespaces")]


def dataset_namespaces(reader: GraphReader) -> list[str]:
    """Return the namespaces of all datasets, sorted."""
    return [row["name"] for row in reader.rows("catalog/dataset_namespaces")]


def page(reader: GraphReader, kind: Listed, namespace: str | None, limit: int, offset: int) -> tuple[list[Row], int]:
    """Return details of a page of jobs or datasets by name, and how many there are in all."""
    rows = reader.rows(f"catalog/{kind}s", namespace=namespace, limit=limit, offset=offset)
    found = details(reader, kind, [row["key"] for row in rows])
    return [found[row["key"]] for row in rows], rows[0]["total"] if rows else offset and _total(reader, kind, namespace)


def jobs_in_states(
    reader: GraphReader, namespace: str | None, states: Sequence[str], open_runs: Sequence[Row], limit: int, offset: int
) -> tuple[list[Row], int]:
    """Return details of a page of the jobs whose last run has one of some states, and how many there are in all.

    ``open_runs`` are those of ``runs.job_runs.open_runs``: a current job version counts the runs that have ended.
    """
    latest = sorted(open_runs, key=lambda row: row["lastEventAt"])
    states_of_jobs = {
        row["at"]: [row["state"], int(row["lastEventAt"].to_native().timestamp() * 1000)] for row in latest
    }
    given = {"namespace": namespace, "states": list(states), "open": states_of_jobs}
    rows = reader.rows("catalog/jobs_in_states", **given, limit=limit, offset=offset)
    found = details(reader, "job", [row["key"] for row in rows])
    if rows or not offset:
        return [found[row["key"]] for row in rows], rows[0]["total"] if rows else 0
    first = reader.rows("catalog/jobs_in_states", **given, limit=1, offset=0)
    return [], first[0]["total"] if first else 0


def _total(reader: GraphReader, kind: Listed, namespace: str | None) -> int:
    """Return how many there are, for a page beyond the last one."""
    rows = reader.rows(f"catalog/{kind}s", namespace=namespace, limit=1, offset=0)
    return int(rows[0]["total"]) if rows else 0


def details(reader: GraphReader, kind: Listed, keys: Sequence[str]) -> dict[str, Row]:
    """Return details of jobs or datasets by their keys; what the graph does not have is left out."""
    return {row["key"]: row for row in reader.rows(f"catalog/{kind}_details", keys=list(keys))} if keys else {}


def last_runs(reader: GraphReader, jobs: Sequence[Row]) -> dict[str, Row]:
    """Return the last run of each job's current version, by run id."""
    keys = sorted({run_node_key(row["lastRun"]) for row in jobs if row["lastRun"]})
    return {row["id"]: row for row in reader.rows("runs/nodes", keys=keys)} if keys else {}


def all_tags(reader: GraphReader) -> list[str]:
    """Return the names of all tags of datasets, of their fields and of jobs, sorted."""
    rows = reader.rows("catalog/tagged_facets", rows=MOST_TAGGED)
    return sorted({tag.name for row in rows for tag in tags_of(facets_of(row["facets"]))})
