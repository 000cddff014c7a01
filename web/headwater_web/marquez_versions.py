"""Marquez's version and source resources: ``/namespaces/NS/datasets|jobs/NAME/versions[/ID]`` and ``/sources[/NAME]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Query, Response

from headwater_graph.model.facet_properties import facets_of
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import NotFound, find_run
from headwater_graph.queries.catalog.pages import Listed, dataset_namespaces, last_runs
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.history import (
    DatasetVersionLine,
    JobVersionLine,
    dataset_version,
    dataset_versions,
    job_versions,
    pick,
)
from headwater_graph.queries.runs.runs import show_run

from .graph_api import MOST_VERSIONS, Context
from .marquez import Limit, Offset, PathName, Value, facet_member, field_values, named_row, run_value

VersionOffset: TypeAlias = Annotated[int, Query(ge=0, le=MOST_VERSIONS)]

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@routes.get("/namespaces/{namespace:path}/datasets/{name:path}/versions/{version}")
def get_dataset_version(context: Context, namespace: PathName, name: PathName, version: PathName) -> Response:
    """Return a version of a dataset, with the facets that its run reported."""
    row, dataset = _named(context.reader, "dataset", namespace, name)
    line = dataset_version(context.reader, dataset, version)
    value = _dataset_values(context.reader, row, [line])[0]
    return context.answer(value | {"facets": _facets(context, line, (namespace, name))})


@routes.get("/namespaces/{namespace:path}/datasets/{name:path}/versions")
def get_dataset_versions(
    context: Context,
    namespace: PathName,
    name: PathName,
    limit: Limit = 100,
    offset: VersionOffset = 0,
) -> Response:
    """Return a page of the versions of a dataset, the newest first; ``totalCount`` counts at most one beyond the page."""
    row, dataset = _named(context.reader, "dataset", namespace, name)
    lines = dataset_versions(context.reader, dataset, offset + limit + 1)
    values = _dataset_values(context.reader, row, lines[offset : offset + limit])
    return context.answer({"versions": values, "totalCount": len(lines)})


@routes.get("/namespaces/{namespace:path}/jobs/{name:path}/versions/{version}")
def get_job_version(context: Context, namespace: PathName, name: PathName, version: PathName) -> Response:
    """Return a version of a job."""
    row, job = _named(context.reader, "job", namespace, name)
    line = pick(job_versions(context.reader, job, MOST_VERSIONS), version)
    return context.answer(_job_values(context.reader, row, [line])[0])


@routes.get("/namespaces/{namespace:path}/jobs/{name:path}/versions")
def get_job_versions(
    context: Context,
    namespace: PathName,
    name: PathName,
    limit: Limit = 100,
    offset: VersionOffset = 0,
) -> Response:
    """Return a page of the versions of a job, the newest first; ``totalCount`` counts at most one beyond the page."""
    row, job = _named(context.reader, "job", namespace, name)
    lines = job_versions(context.reader, job, offset + limit + 1)
    values = _job_values(context.reader, row, lines[offset : offset + limit])
    return context.answer({"versions": values, "totalCount": len(lines)})


@routes.get("/sources")
def get_sources(context: Context, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of the sources of datasets, which are their namespaces."""
    named = dataset_namespaces(context.reader)[offset : offset + limit]
    return context.answer({"sources": [_source_value(name) for name in named]})


@routes.get("/sources/{source:path}")
def get_source(context: Context, source: PathName) -> Response:
    """Return a source."""
    if source not in dataset_namespaces(context.reader):
        raise NotFound(f"no source {source!r}")
    return context.answer(_source_value(source))


def _source_value(name: str) -> Value:
    """Return Marquez's ``Source``; the graph knows its name only."""
    unknown = {"type": None, "createdAt": None, "updatedAt": None, "connectionUrl": None, "description": None}
    return {"name": name, **unknown}


def _named(reader: GraphReader, kind: Listed, namespace: str, name: str) -> tuple[Row, Node]:
    row = named_row(reader, kind, namespace, name)
    return row, Node(row["key"], kind, (namespace, name))


def _dataset_values(reader: GraphReader, row: Row, lines: Sequence[DatasetVersionLine]) -> list[Value]:
    runs = last_runs(reader, [{"lastRun": line.made_by} for line in lines])
    return [_dataset_value(row, line, runs) for line in lines]


def _dataset_value(row: Row, line: DatasetVersionLine, runs: Mapping[str, Row]) -> Value:
    made_by = runs.get(line.made_by or "")
    return {
        "id": {"namespace": row["namespace"], "name": row["name"], "version": line.id},
        "type": "DB_TABLE",
        "name": row["name"],
        "physicalName": row["name"],
        "createdAt": line.at,
        "version": line.id,
        "namespace": row["namespace"],
        "sourceName": row["namespace"],
        "fields": field_values(line.schema or []),
        "tags": [],
        "lastModifiedAt": line.at,
        "description": facet_member(facets_of(row["facets"]), "documentation", "description"),
        "lifecycleState": None,
        "createdByRun": None if made_by is None else run_value(made_by),
        "facets": {},
    }


def _facets(context: Context, line: DatasetVersionLine, name: tuple[str, str]) -> dict[str, Any]:
    """Return the dataset facets of the run that created a version; none if retention has removed the run."""
    if line.made_by is None:
        return {}
    try:
        run = show_run(context.reader, find_run(context.reader, line.made_by), context.now)
    except NotFound:
        return {}
    return dict(run.view.outputs.get(name, ({}, {}))[0])


def _job_values(reader: GraphReader, row: Row, lines: Sequence[JobVersionLine]) -> list[Value]:
    runs = last_runs(reader, [{"lastRun": line.last_run} for line in lines])
    location = facet_member(facets_of(row["facets"]), "sourceCodeLocation", "url")
    return [_job_value(row, line, location, runs) for line in lines]


def _job_value(row: Row, line: JobVersionLine, location: str | None, runs: Mapping[str, Row]) -> Value:
    last = runs.get(line.last_run or "")
    return {
        "id": {"namespace": row["namespace"], "name": row["name"], "version": line.id},
        "name": row["name"],
        "createdAt": line.since,
        "version": line.id,
        "namespace": row["namespace"],
        "location": location,
        "inputs": [{"namespace": namespace, "name": name} for namespace, name in line.inputs],
        "outputs": [{"namespace": namespace, "name": name} for namespace, name in line.outputs],
        "latestRun": None if last is None else run_value(last),
    }
