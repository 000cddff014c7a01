"""Runs and events in Marquez's shapes: one run with what it read and wrote, and events told again from the graph."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Query, Request, Response

from headwater_graph.audit.export.reconstruct import events_of
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.queries.catalog.finding import find_run
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.run_view import RunView
from headwater_graph.queries.runs.runs import RunDetails, VersionUse, show_run

from .graph_api import Ask, Time, read_time
from .guard import answered
from .marquez import Limit, Value, line_value

PAGE = 100
FURTHEST = 10_000
"""How many events into the list one may go: each costs the reading of a record."""

EventOffset: TypeAlias = Annotated[int, Query(ge=0, le=FURTHEST)]

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@routes.get("/jobs/runs/{run_id:path}/facets")
def get_facets(
    request: Request,
    ask: Ask,
    run_id: str,
    type: Annotated[Literal["run", "job"], Query()] = "run",  # noqa: A002 - Marquez's name
) -> Response:
    """The facets that a run told of itself or of its job."""
    details = show_run(ask.reader, find_run(ask.reader, run_id), ask.now)
    facets = details.view.run if type == "run" else details.view.job
    return answered(request, {"runId": details.run.id, "facets": dict(facets)})


@routes.get("/jobs/runs/{run_id:path}")
def get_run(request: Request, ask: Ask, run_id: str) -> Response:
    """One run."""
    return answered(request, run_details_value(show_run(ask.reader, find_run(ask.reader, run_id), ask.now)))


def run_details_value(details: RunDetails) -> Value:
    """Return a run in Marquez's shape, with its job version and the dataset versions that it read and wrote."""
    told = details.view
    job = details.run.job or ("", "")
    nominal = _members(told, "nominalTime")
    version = {"namespace": job[0], "name": job[1], "version": details.version}
    return line_value(details.run) | {
        "nominalStartTime": nominal.get("nominalStartTime"),
        "nominalEndTime": nominal.get("nominalEndTime"),
        "jobVersion": version if details.version else None,
        "inputDatasetVersions": [_used(use, told.inputs) for use in details.reads],
        "outputDatasetVersions": [_used(use, told.outputs) for use in details.writes],
        "facets": dict(told.run),
    }


def _used(use: VersionUse, side: Any) -> Value:
    own = side.get(use.dataset, ({}, {}))[1]
    version = {"namespace": use.dataset[0], "name": use.dataset[1], "version": use.version}
    return {"datasetVersionId": version, "facets": dict(own)}


def _members(told: RunView, facet: str) -> dict[str, Any]:
    found = told.run.get(facet)
    return found if isinstance(found, dict) else {}


@routes.get("/events", include_in_schema=False)
@routes.get("/events/lineage")
def get_events(
    request: Request,
    ask: Ask,
    before: Time = None,
    after: Time = None,
    sort: Annotated[Literal["asc", "desc"], Query(alias="sortDirection")] = "desc",
    limit: Limit = 100,
    offset: EventOffset = 0,
) -> Response:
    """Events of the runs whose last event lies between two times, told again from what the graph holds of them.

    The events of a run stay together. ``totalCount`` counts no further than one event beyond this page.
    """
    told = _events(ask.reader, read_time(after), read_time(before), newest_first=sort == "desc")
    found = list(itertools.islice(told, offset + limit + 1))
    events = [json.loads(event) for event in found[offset : offset + limit]]
    return answered(request, {"events": events, "totalCount": len(found)})


def _events(
    reader: GraphReader, after: datetime | None, before: datetime | None, *, newest_first: bool
) -> Iterator[bytes]:
    question = "runs/by_event_latest" if newest_first else "runs/by_event_earliest"
    skip = 0
    while rows := reader.rows(question, after=after, before=before, skip=skip, limit=PAGE):
        for row in rows:
            events = list(events_of(row["id"], unpack(row["record"], RunRecord)))
            yield from reversed(events) if newest_first else events
        skip += len(rows)
