"""Marquez's namespace, job, dataset and tag resources, from headwater's graph.

Namespaces: ``/namespaces[/NS]``. Jobs: ``/jobs``, ``/namespaces/NS/jobs[/NAME[/runs]]``. Datasets: ``/namespaces/NS/datasets``
and ``…/datasets/NAME``. Lineage is in ``marquez_lineage``, search in ``marquez_search``, runs and events in ``marquez_runs``,
versions and sources in ``marquez_versions``, column lineage in ``marquez_columns``, statistics in ``marquez_stats``, what clients
may change in ``marquez_changes``. All paths are below ``/api/v1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Response
from pydantic import BeforeValidator

from headwater_avro.names import MAX_KEY_LENGTH, node_key
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.pages import Listed, all_tags, details, jobs_in_states, namespaces, page
from headwater_graph.queries.keys import job_node_key
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.job_runs import latest_runs, open_runs, runs_page

from .graph_api import Context
from .marquez_paths import decoded_name
from .marquez_values import STATES, Value, dataset_value, job_value, quality_facets, run_value, version_value

Limit: TypeAlias = Annotated[int, Query(ge=1, le=1_000)]
Offset: TypeAlias = Annotated[int, Query(ge=0, le=10_000_000)]
PathName: TypeAlias = Annotated[str, BeforeValidator(decoded_name), Path(max_length=MAX_KEY_LENGTH)]
"""A namespace, name or run id in a path."""

RunState: TypeAlias = Literal["NEW", "RUNNING", "COMPLETED", "FAILED", "ABORTED"]
RunStates: TypeAlias = Annotated[list[RunState], Query(default_factory=list, alias="lastRunStates")]
STATES_IN_GRAPH = {shown: stored for stored, shown in STATES.items()}

LATEST_RUNS = 10
"""How many runs a job is shown with."""

MOST_COLUMN_EDGES = 20_000
"""How many column edges into the datasets of a page are read."""

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@routes.get("/namespaces")
def get_namespaces(context: Context, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of the namespaces of all jobs and datasets."""
    page_of_names = namespaces(context.reader)[offset : offset + limit]
    return context.answer({"namespaces": [namespace_value(name) for name in page_of_names]})


def namespace_value(name: str) -> Value:
    """Return Marquez's ``Namespace``; the graph knows its name only."""
    unknown = {"createdAt": None, "updatedAt": None, "ownerName": None, "description": None, "isHidden": False}
    return {"name": name, **unknown}


@routes.get("/tags")
def get_tags(context: Context, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of the tags that datasets, their fields or jobs have."""
    names = all_tags(context.reader)[offset : offset + limit]
    return context.answer({"tags": [{"name": name, "description": None} for name in names]})


@routes.get("/jobs")
def get_all_jobs(context: Context, states: RunStates, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of all jobs, or of those whose last run has one of some states."""
    return context.answer(_jobs(context.reader, None, states, limit, offset))


@routes.get("/namespaces/{namespace:path}/jobs")
def get_jobs(
    context: Context, namespace: PathName, states: RunStates, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """Return a page of the jobs of a namespace, or of those whose last run has one of some states."""
    return context.answer(_jobs(context.reader, namespace, states, limit, offset))


def _jobs(reader: GraphReader, namespace: str | None, states: Sequence[RunState], limit: int, offset: int) -> Value:
    if states:
        wanted = [STATES_IN_GRAPH.get(state, state) for state in states]
        rows, total = jobs_in_states(reader, namespace, wanted, open_runs(reader), limit, offset)
    else:
        rows, total = page(reader, "job", namespace, limit, offset)
    return {"jobs": job_values(reader, rows), "totalCount": total}


def job_values(reader: GraphReader, rows: Sequence[Row]) -> list[Value]:
    """Return jobs with their latest runs."""
    runs = latest_runs(reader, [row["key"] for row in rows], LATEST_RUNS)
    return [job_value(row, runs.get(row["key"], [])) for row in rows]


@routes.get("/namespaces/{namespace:path}/datasets")
def get_datasets(context: Context, namespace: PathName, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of the datasets of a namespace."""
    rows, total = page(context.reader, "dataset", namespace, limit, offset)
    return context.answer({"datasets": dataset_values(context.reader, rows), "totalCount": total})


def dataset_values(reader: GraphReader, rows: Sequence[Row]) -> list[Value]:
    """Return datasets with the columns from which theirs are derived, and what their last runs stated of their quality."""
    keys = [row["key"] for row in rows]
    edges: dict[str, list[Row]] = {}
    for edge in reader.rows("columns/into_datasets", keys=keys, rows=MOST_COLUMN_EDGES) if keys else ():
        edges.setdefault(edge["at"], []).append(edge)
    records = {row["key"]: row for row in reader.rows("catalog/dataset_records", keys=keys)} if keys else {}
    return [dataset_value(row, edges.get(row["key"], ()), _quality(row, records.get(row["key"]))) for row in rows]


def _quality(row: Row, records: Row | None) -> Value:
    if records is None:
        return {}
    return quality_facets((row["namespace"], row["name"]), records["written"], records["read"])


@routes.get("/namespaces/{namespace:path}/jobs/{name:path}/runs")
def get_runs(context: Context, namespace: PathName, name: PathName, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of the runs of a job, the latest first."""
    rows, total = runs_page(context.reader, job_node_key(namespace, name), limit, offset)
    return context.answer({"runs": [_listed_run(row) for row in rows], "totalCount": total})


def _listed_run(row: Row) -> Value:
    job = None if row["namespace"] is None else (row["namespace"], row["name"])
    return run_value(row) | {"jobVersion": version_value(job, row["version"])}


@routes.get("/namespaces/{namespace:path}/jobs/{name:path}")
def get_job(context: Context, namespace: PathName, name: PathName) -> Response:
    """Return a job."""
    row = named_row(context.reader, "job", namespace, name)
    return context.answer(job_values(context.reader, [row])[0])


@routes.get("/namespaces/{namespace:path}/datasets/{name:path}")
def get_dataset(context: Context, namespace: PathName, name: PathName) -> Response:
    """Return a dataset."""
    row = named_row(context.reader, "dataset", namespace, name)
    return context.answer(dataset_values(context.reader, [row])[0])


def named_row(reader: GraphReader, kind: Listed, namespace: str, name: str) -> Row:
    """Return the details of a job or dataset; raises NotFound if the graph does not have it."""
    found = details(reader, kind, [node_key(kind, namespace, name)])
    if not found:
        raise NotFound(f"no {kind} {name!r} in {namespace!r}")
    return next(iter(found.values()))


@routes.get("/namespaces/{namespace:path}")
def get_namespace(context: Context, namespace: PathName) -> Response:
    """Return a namespace."""
    if namespace not in namespaces(context.reader):
        raise NotFound(f"no namespace {namespace!r}")
    return context.answer(namespace_value(namespace))
