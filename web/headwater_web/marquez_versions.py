"""Marquez's version and source resources: ``/namespaces/NS/datasets|jobs/NAME/versions[/ID]`` and ``/sources[/NAME]``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Query, Response

from headwater_graph.model.facet_properties import facets_of
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.pages import Listed, dataset_namespaces
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.history import (
    DatasetVersionLine,
    JobVersionLine,
    dataset_version,
    dataset_versions,
    job_versions,
    pick,
)
from headwater_graph.queries.runs.job_runs import run_records
from headwater_graph.queries.runs.run_view import run_view

from .graph_api import MOST_VERSIONS, Context
from .marquez import Limit, Offset, PathName, named_row
from .marquez_values import Value, facet_member, field_values, key_value, run_value, tag_names

VersionOffset: TypeAlias = Annotated[int, Query(ge=0, le=MOST_VERSIONS)]

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@routes.get("/namespaces/{namespace:path}/datasets/{name:path}/versions/{version}")
def get_dataset_version(context: Context, namespace: PathName, name: PathName, version: PathName) -> Response:
    """Return a version of a dataset, with the facets that its run reported."""
    row, dataset = _named(context.reader, "dataset", namespace, name)
    line = dataset_version(context.reader, dataset, version)
    return context.answer(_dataset_values(context.reader, row, [line])[0])


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
    runs = run_records(reader, [line.made_by for line in lines])
    return [_dataset_value(row, line, runs.get(line.made_by or "")) for line in lines]


def _dataset_value(row: Row, line: DatasetVersionLine, made_by: Row | None) -> Value:
    key = (row["namespace"], row["name"])
    stated = _facets(key, made_by)
    known = {**facets_of(row["facets"]), **stated}
    return {
        "id": {**key_value(key), "version": line.id},
        "type": "DB_TABLE",
        "name": row["name"],
        "physicalName": row["name"],
        "createdAt": line.at,
        "version": line.id,
        "namespace": row["namespace"],
        "sourceName": row["namespace"],
        "fields": field_values(json.dumps(line.schema or []), known),
        "tags": tag_names(known),
        "lastModifiedAt": line.at,
        "description": facet_member(known, "documentation", "description"),
        "lifecycleState": facet_member(stated, "lifecycleStateChange", "lifecycleStateChange"),
        "createdByRun": None if made_by is None else run_value(made_by),
        "facets": stated,
    }


def _facets(key: tuple[str, str], made_by: Row | None) -> dict[str, Any]:
    """Return what the run that made a version stated of it; nothing if retention has removed the run, or an event made it."""
    facets, own = ({}, {}) if made_by is None else run_view(made_by["record"]).outputs.get(key, ({}, {}))
    return {**facets, **own}


def _job_values(reader: GraphReader, row: Row, lines: Sequence[JobVersionLine]) -> list[Value]:
    runs = run_records(reader, [line.last_run for line in lines])
    return [_job_value(row, line, runs.get(line.last_run or "")) for line in lines]


def _job_value(row: Row, line: JobVersionLine, last: Row | None) -> Value:
    """Return Marquez's ``JobVersion``, with the facets that the last run of the version states of its job."""
    facets = {} if last is None else dict(run_view(last["record"]).job)
    return {
        "id": {**key_value((row["namespace"], row["name"])), "version": line.id},
        "name": row["name"],
        "createdAt": line.since,
        "version": line.id,
        "namespace": row["namespace"],
        "location": facet_member({**facets_of(row["facets"]), **facets}, "sourceCodeLocation", "url"),
        "inputs": [key_value(key) for key in line.inputs],
        "outputs": [key_value(key) for key in line.outputs],
        "latestRun": None if last is None else run_value(last),
        "facets": facets,
    }
