"""Marquez's run and event resources: ``/jobs/runs/ID[/facets]`` and ``/events/lineage``.

The graph does not store events; they are reconstructed from the records of runs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Query, Response

from headwater_graph.audit.export.reconstruct import events_of
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.queries.catalog.finding import find_run
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.run_view import RunView
from headwater_graph.queries.runs.runs import RunDetails, VersionUse, show_run

from .graph_api import Context, Time, read_time
from .marquez import Limit, PathName, Value, listed_run_value

PAGE = 100
FURTHEST = 10_000
"""Maximum offset of events: each skipped event costs the reading of a record."""

EventOffset: TypeAlias = Annotated[int, Query(ge=0, le=FURTHEST)]

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@routes.get("/jobs/runs/{run_id:path}/facets")
def get_facets(
    context: Context,
    run_id: PathName,
    type: Annotated[Literal["run", "job"], Query()] = "run",  # noqa: A002 - Marquez's name
) -> Response:
    """Return the facets of a run, or those of its job in this run."""
    details = show_run(context.reader, find_run(context.reader, run_id), context.now)
    facets = details.view.run if type == "run" else details.view.job
    return context.answer({"runId": details.run.id, "facets": dict(facets)})


@routes.get("/jobs/runs/{run_id:path}")
def get_run(context: Context, run_id: PathName) -> Response:
    """Return a run."""
    details = show_run(context.reader, find_run(context.reader, run_id), context.now)
    return context.answer(run_details_value(details))


def run_details_value(details: RunDetails) -> Value:
    """Return Marquez's ``Run`` with its job version and the dataset versions that it read and wrote."""
    view = details.view
    job = details.run.job or ("", "")
    nominal = _facet(view, "nominalTime")
    version = {"namespace": job[0], "name": job[1], "version": details.version}
    return listed_run_value(details.run) | {
        "nominalStartTime": nominal.get("nominalStartTime"),
        "nominalEndTime": nominal.get("nominalEndTime"),
        "jobVersion": version if details.version else None,
        "inputDatasetVersions": [_used(use, view.inputs) for use in details.reads],
        "outputDatasetVersions": [_used(use, view.outputs) for use in details.writes],
        "facets": dict(view.run),
    }


def _used(use: VersionUse, side: Any) -> Value:
    own = side.get(use.dataset, ({}, {}))[1]
    version = {"namespace": use.dataset[0], "name": use.dataset[1], "version": use.version}
    return {"datasetVersionId": version, "facets": dict(own)}


def _facet(view: RunView, facet: str) -> dict[str, Any]:
    found = view.run.get(facet)
    return found if isinstance(found, dict) else {}


@routes.get("/events", include_in_schema=False)
@routes.get("/events/lineage")
def get_events(
    context: Context,
    before: Time = None,
    after: Time = None,
    sort: Annotated[Literal["asc", "desc"], Query(alias="sortDirection")] = "desc",
    limit: Limit = 100,
    offset: EventOffset = 0,
) -> Response:
    """Return events of the runs whose last event lies between two times, reconstructed from the graph.

    The events of a run stay together. ``totalCount`` counts at most one event beyond this page.
    """
    events_found = _events(context.reader, read_time(after), read_time(before), newest_first=sort == "desc")
    found = list(itertools.islice(events_found, offset + limit + 1))
    events = [json.loads(event) for event in found[offset : offset + limit]]
    return context.answer({"events": events, "totalCount": len(found)})


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
