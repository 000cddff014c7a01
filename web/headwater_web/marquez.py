"""Marquez's namespace, job, dataset, lineage and search resources, from headwater's graph.

Namespaces: ``/namespaces[/NS]``. Jobs: ``/jobs``, ``/namespaces/NS/jobs[/NAME[/runs]]``. Datasets: ``/namespaces/NS/datasets``
and ``…/datasets/NAME``. Lineage: ``/lineage?nodeId=…``. Further: ``/search``, ``/tags``. Runs and events are in
``marquez_runs``, versions and sources in ``marquez_versions``, column lineage in ``marquez_columns``, statistics in
``marquez_stats``. All paths are below ``/api/v1``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Path, Query, Request, Response

from headwater_avro.names import MAX_KEY_LENGTH, node_key
from headwater_graph.model.facet_properties import facets_of
from headwater_graph.queries.answers import Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.pages import Listed, details, last_runs, namespaces, page
from headwater_graph.queries.catalog.search import search
from headwater_graph.queries.keys import job_node_key, names_in
from headwater_graph.queries.lineage.component import DIRECTIONS
from headwater_graph.queries.lineage.lineage import traverse
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.runs import RunFilter, RunLine, list_runs
from headwater_graph.queries.values import time_text

from .etags import answered
from .graph_api import Context
from .problems import Problem

Value: TypeAlias = dict[str, Any]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=1_000)]
Offset: TypeAlias = Annotated[int, Query(ge=0, le=10_000_000)]
PathName: TypeAlias = Annotated[str, Path(max_length=MAX_KEY_LENGTH)]
"""A namespace, name or run id in a path."""

STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
JOB_TYPES = {"STREAMING": "STREAM", "SERVICE": "SERVICE"}
NODE_TYPES = {"job": "JOB", "dataset": "DATASET"}

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
def get_tags(request: Request) -> Response:
    """Return no tags: the graph has none, but Marquez's web interface requests them."""
    return answered(request, {"tags": []})


@routes.get("/jobs")
def get_all_jobs(context: Context, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of all jobs."""
    return context.answer(_jobs(context.reader, None, limit, offset))


@routes.get("/namespaces/{namespace:path}/jobs")
def get_jobs(context: Context, namespace: PathName, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of the jobs of a namespace."""
    return context.answer(_jobs(context.reader, namespace, limit, offset))


def _jobs(reader: GraphReader, namespace: str | None, limit: int, offset: int) -> Value:
    rows, total = page(reader, "job", namespace, limit, offset)
    runs = last_runs(reader, rows)
    return {"jobs": [job_value(row, runs) for row in rows], "totalCount": total}


@routes.get("/namespaces/{namespace:path}/datasets")
def get_datasets(context: Context, namespace: PathName, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Return a page of the datasets of a namespace."""
    rows, total = page(context.reader, "dataset", namespace, limit, offset)
    return context.answer({"datasets": [dataset_value(row) for row in rows], "totalCount": total})


@routes.get("/namespaces/{namespace:path}/jobs/{name:path}/runs")
def get_runs(context: Context, namespace: PathName, name: PathName, limit: Limit = 100) -> Response:
    """Return the latest runs of a job."""
    runs = list_runs(context.reader, RunFilter(job=job_node_key(namespace, name)), context.now, limit)
    return context.answer({"runs": [listed_run_value(run) for run in runs], "totalCount": len(runs)})


@routes.get("/namespaces/{namespace:path}/jobs/{name:path}")
def get_job(context: Context, namespace: PathName, name: PathName) -> Response:
    """Return a job."""
    row = named_row(context.reader, "job", namespace, name)
    return context.answer(job_value(row, last_runs(context.reader, [row])))


@routes.get("/namespaces/{namespace:path}/datasets/{name:path}")
def get_dataset(context: Context, namespace: PathName, name: PathName) -> Response:
    """Return a dataset."""
    return context.answer(dataset_value(named_row(context.reader, "dataset", namespace, name)))


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


@routes.get("/lineage")
def get_lineage(
    context: Context,
    node_id: Annotated[str, Query(alias="nodeId", min_length=1, max_length=4_100)],
    depth: Annotated[int, Query(ge=0)] = 20,
) -> Response:
    """Return the lineage graph of a node, ``dataset:namespace:name`` or ``job:namespace:name``, in both directions to a depth."""
    start = node_named(context.reader, node_id)
    scope = Scope(TraversalLimits(min(depth, context.settings.max_depth), nodes=context.settings.max_nodes))
    nodes: dict[str, Node] = {}
    edges: set[tuple[str, str]] = set()
    for direction in DIRECTIONS:
        found = traverse(context.reader, start, direction, scope)
        nodes |= found.nodes
        edges |= {(edge.source, edge.target) for edge in found.edges.values() if edge.kind != "alias"}
    return context.answer({"graph": _graph(context.reader, nodes, edges)})


def node_named(reader: GraphReader, node_id: str) -> Node:
    """Return the node of a node id; raises NotFound, and Problem if the id is malformed."""
    kind, _, rest = node_id.partition(":")
    if kind not in NODE_TYPES:
        raise Problem(400, "nodeId must be dataset:namespace:name or job:namespace:name")
    listed: Listed = "job" if kind == "job" else "dataset"
    keys = [node_key(kind, *name) for name in names_in(rest, ":")]
    if not keys and len(rest) > MAX_KEY_LENGTH:
        raise Problem(400, f"nodeId must be {kind}:namespace:name, with names of at most {MAX_KEY_LENGTH} characters")
    found = details(reader, listed, keys)
    if not found:
        raise NotFound(f"no node {node_id!r}")
    row = next(iter(found.values()))
    return Node(row["key"], listed, (row["namespace"], row["name"]))


def _graph(reader: GraphReader, nodes: Mapping[str, Node], edges: Iterable[tuple[str, str]]) -> list[Value]:
    jobs = details(reader, "job", [key for key, node in nodes.items() if node.kind == "job"])
    datasets = details(reader, "dataset", [key for key, node in nodes.items() if node.kind == "dataset"])
    runs = last_runs(reader, list(jobs.values()))
    values = {key: job_value(row, runs) for key, row in jobs.items()}
    values |= {key: dataset_value(row) for key, row in datasets.items()}
    ids = {key: node_id_of(node) for key, node in nodes.items()}
    incoming: dict[str, list[Value]] = {key: [] for key in nodes}
    outgoing: dict[str, list[Value]] = {key: [] for key in nodes}
    for source, target in sorted(edges, key=lambda ends: (ids[ends[0]], ids[ends[1]])):
        edge = {"origin": ids[source], "destination": ids[target]}
        outgoing[source].append(edge)
        incoming[target].append(edge)
    return [
        {
            "id": ids[key],
            "type": NODE_TYPES[node.kind],
            "data": values[key],
            "inEdges": incoming[key],
            "outEdges": outgoing[key],
        }
        for key, node in sorted(nodes.items(), key=lambda item: ids[item[0]])
    ]


def node_id_of(node: Node) -> str:
    """Return Marquez's node id, ``dataset:namespace:name`` or ``job:namespace:name``."""
    return f"{node.kind}:{node.name[0]}:{node.name[1]}"


@routes.get("/search")
def get_search(
    context: Context, q: Annotated[str, Query(min_length=1, max_length=4_001)], limit: Limit = 10
) -> Response:
    """Return datasets and jobs whose name contains a text."""
    found = search(context.reader, q, ("dataset", "job"), limit)[:limit]
    results = [_result(node) for node in found]
    return context.answer({"totalCount": len(results), "results": results})


def _result(node: Node) -> Value:
    named = {"type": NODE_TYPES[node.kind], "name": node.name[1], "namespace": node.name[0]}
    return named | {"nodeId": node_id_of(node), "updatedAt": None}


def job_value(row: Row, runs: Mapping[str, Row]) -> Value:
    """Return Marquez's ``Job``; ``createdAt`` is the start of its current version."""
    facets = facets_of(row["facets"])
    last = runs.get(row["lastRun"] or "")
    return {
        "id": {"namespace": row["namespace"], "name": row["name"]},
        "type": _job_type(facets),
        "name": row["name"],
        "simpleName": row["name"],
        "namespace": row["namespace"],
        "createdAt": time_text(row["since"]),
        "updatedAt": time_text(last["lastEventAt"]) if last else time_text(row["since"]),
        "inputs": [{"namespace": namespace, "name": name} for namespace, name in row["inputs"]],
        "outputs": [{"namespace": namespace, "name": name} for namespace, name in row["outputs"]],
        "tags": [],
        "location": facet_member(facets, "sourceCodeLocation", "url"),
        "description": facet_member(facets, "documentation", "description"),
        "currentVersion": row["version"],
        "latestRun": None if last is None else run_value(last),
        "facets": facets,
    }


def _job_type(facets: Value) -> str:
    return JOB_TYPES.get(str(facet_member(facets, "jobType", "processingType")), "BATCH")


def facet_member(facets: Value, facet: str, name: str) -> Any:
    """Return a member of a facet, None without the facet or the member."""
    facet_value = facets.get(facet)
    return facet_value.get(name) if isinstance(facet_value, dict) else None


def dataset_value(row: Row) -> Value:
    """Return Marquez's ``Dataset``, with the schema of its current version or else of its facet."""
    facets = facets_of(row["facets"])
    schema = json.loads(row["schema"]) if row["schema"] else []
    written = time_text(row["written"])
    return {
        "id": {"namespace": row["namespace"], "name": row["name"]},
        "type": "DB_TABLE",
        "name": row["name"],
        "physicalName": row["name"],
        "namespace": row["namespace"],
        "sourceName": row["namespace"],
        "createdAt": written,
        "updatedAt": written,
        "lastModifiedAt": written,
        "fields": field_values(schema),
        "tags": [],
        "description": facet_member(facets, "documentation", "description"),
        "currentVersion": row["version"],
        "deleted": bool(row["dropped"]),
        "facets": facets,
    }


def field_values(schema: Iterable[Sequence[str]]) -> list[Value]:
    """Return Marquez's ``Field`` for each ``[name, type]`` or ``[name]`` of a schema."""
    return [_field(*field) for field in schema]


def _field(name: str, kind: str | None = None) -> Value:
    return {"name": name, "type": kind, "tags": [], "description": None}


def run_value(row: Row) -> Value:
    """Return Marquez's ``Run``."""
    times = {name: row[name].to_native() if row[name] else None for name in ("startedAt", "endedAt", "lastEventAt")}
    return _run_fields(row["id"], row["state"], times["startedAt"], times["endedAt"], times["lastEventAt"])


def listed_run_value(line: RunLine) -> Value:
    """Return Marquez's ``Run`` for a run of a list."""
    times = [
        None if text is None else datetime.fromisoformat(text) for text in (line.started, line.ended, line.last_event)
    ]
    return _run_fields(line.id, line.state, *times)


def _run_fields(
    run_id: str, state: str | None, started: datetime | None, ended: datetime | None, last: datetime | None
) -> Value:
    duration = int((ended - started).total_seconds() * 1000) if started and ended else None
    return {
        "id": run_id,
        "createdAt": time_text(started or last),
        "updatedAt": time_text(last),
        "nominalStartTime": None,
        "nominalEndTime": None,
        "state": STATES.get(state or "", state),
        "startedAt": time_text(started),
        "endedAt": time_text(ended),
        "durationMs": duration,
        "args": {},
        "facets": {},
    }
