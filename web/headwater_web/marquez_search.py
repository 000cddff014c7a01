"""Marquez's search resource, ``/search``: datasets and jobs by parts of their names."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Query, Response
from pydantic import BeforeValidator

from headwater_avro.times import micros_of
from headwater_graph.queries.answers import Kind, Node
from headwater_graph.queries.catalog.pages import details, last_runs
from headwater_graph.queries.catalog.search import search
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.values import time_text

from .graph_api import Context, Time, read_time
from .marquez import Limit
from .marquez_values import NODE_TYPES, Value, node_id_of

Filter: TypeAlias = Annotated[
    Literal["JOB", "DATASET", "ALL"], BeforeValidator(lambda text: str(text).upper()), Query()
]
Sort: TypeAlias = Annotated[Literal["NAME", "UPDATE_AT"], BeforeValidator(lambda text: str(text).upper()), Query()]
KINDS: dict[str, tuple[Kind, ...]] = {"JOB": ("job",), "DATASET": ("dataset",), "ALL": ("dataset", "job")}

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@routes.get("/search/", include_in_schema=False)
@routes.get("/search")
def get_search(
    context: Context,
    q: Annotated[str, Query(min_length=1, max_length=4_001)],
    filter: Filter = "ALL",  # noqa: A002 - Marquez's name
    sort: Sort | None = None,
    limit: Limit = 10,
    namespace: Annotated[str | None, Query(max_length=2_000)] = None,
    after: Time = None,
) -> Response:
    """Return datasets and jobs whose name contains a text, the closest matches, or as ``sort`` says.

    Of the closest matches, ``after`` leaves out those that were not updated since.
    """
    since = read_time(after)
    found = search(context.reader, q, KINDS[filter], limit, namespace)
    updated = _updated(context.reader, found)
    if since is not None:
        found = [node for node in found if (updated[node.key] or 0) >= micros_of(since)]
    results = [_result(node, updated[node.key]) for node in _sorted(found, updated, sort)[:limit]]
    return context.answer({"totalCount": len(results), "results": results})


def _updated(reader: GraphReader, nodes: list[Node]) -> dict[str, int | None]:
    """Return when each dataset was written, or read if nothing writes it, and each job ran last, in microseconds."""
    datasets = details(reader, "dataset", [node.key for node in nodes if node.kind == "dataset"])
    jobs = details(reader, "job", [node.key for node in nodes if node.kind == "job"])
    runs = last_runs(reader, list(jobs.values()))
    times: dict[str, int | None] = {node.key: None for node in nodes}
    times |= {key: row["written"] or row["lastRead"] for key, row in datasets.items()}
    ends: dict[str, datetime | None] = {run: row["lastEventAt"].to_native() for run, row in runs.items()}
    last = {key: ends.get(row["lastRun"] or "") for key, row in jobs.items()}
    return times | {key: jobs[key]["since"] if end is None else micros_of(end) for key, end in last.items()}


def _sorted(nodes: list[Node], updated: dict[str, int | None], sort: str | None) -> list[Node]:
    if sort == "NAME":
        return sorted(nodes, key=lambda node: (node.name[1], node.name[0], node.kind))
    return nodes if sort is None else sorted(nodes, key=lambda node: updated[node.key] or 0, reverse=True)


def _result(node: Node, updated: int | None) -> Value:
    named = {"type": NODE_TYPES[node.kind], "name": node.name[1], "namespace": node.name[0]}
    return named | {"nodeId": node_id_of(node), "updatedAt": time_text(updated)}
