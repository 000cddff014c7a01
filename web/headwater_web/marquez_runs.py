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

from headwater_avro.times import micros_of
from headwater_graph.audit.export.reconstruct import events_of
from headwater_graph.model.records import RunRecord, unpack
from headwater_graph.queries.catalog.finding import find_run
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.runs import RunDetails, RunLine, VersionUse, show_run

from .graph_api import Context, Time, read_time
from .marquez import Limit, PathName
from .marquez_values import Value, key_value, own_facets, run_fields, version_value, view_fields

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
    return (
        _node_fields(details.run)
        | view_fields(view)
        | {
            "jobVersion": version_value(details.run.job, details.version),
            "inputDatasetVersions": [_used(use, view.inputs) for use in details.reads],
            "outputDatasetVersions": [_used(use, view.outputs) for use in details.writes],
        }
    )


def _node_fields(line: RunLine) -> Value:
    texts = (line.started, line.ended, line.last_event)
    times = [None if text is None else micros_of(datetime.fromisoformat(text)) for text in texts]
    return run_fields(line.id, line.state, *times)


def _used(use: VersionUse, side: Any) -> Value:
    version = {**key_value(use.dataset), "version": use.version}
    return {"datasetVersionId": version, "facets": own_facets(side, (use.dataset[0], use.dataset[1]))}


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
    events_found = _events(
        context.reader, read_time(after or None), read_time(before or None), newest_first=sort == "desc"
    )
    found = list(itertools.islice(events_found, offset + limit + 1))
    # Marquez's page reads both sides of every event.
    events = [{"inputs": [], "outputs": [], **json.loads(event)} for event in found[offset : offset + limit]]
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
