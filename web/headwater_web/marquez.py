"""The read addresses that clients of Marquez use most, in Marquez's shapes, from our graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Query, Request, Response

from headwater_graph.model.facet_properties import facets_of
from headwater_graph.queries.answers import Direction, Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.pages import Listed, details, last_runs, namespaces, page
from headwater_graph.queries.catalog.search import search
from headwater_graph.queries.keys import dataset_key, job_key
from headwater_graph.queries.lineage.component import DIRECTIONS
from headwater_graph.queries.lineage.lineage import traverse
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.runs import RunFilter, RunLine, list_runs
from headwater_graph.queries.values import time_text

from .graph_api import Ask
from .guard import answered
from .problems import Problem

Value: TypeAlias = dict[str, Any]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=1_000)]
Offset: TypeAlias = Annotated[int, Query(ge=0, le=10_000_000)]

STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}
JOB_TYPES = {"STREAMING": "STREAM", "SERVICE": "SERVICE"}
NODE_TYPES = {"job": "JOB", "dataset": "DATASET"}

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@routes.get("/namespaces")
def get_namespaces(request: Request, ask: Ask, limit: Limit = 100, offset: Offset = 0) -> Response:
    """A page of the namespaces of all jobs and datasets."""
    named = namespaces(ask.reader)[offset : offset + limit]
    return answered(request, {"namespaces": [namespace_value(name) for name in named]})


def namespace_value(name: str) -> Value:
    """Return a namespace in Marquez's shape; of what Marquez keeps beside the name nothing is known."""
    unknown = {"createdAt": None, "updatedAt": None, "ownerName": None, "description": None, "isHidden": False}
    return {"name": name, **unknown}


@routes.get("/tags")
def get_tags(request: Request) -> Response:
    """No tags: none are kept, and Marquez's page asks for them."""
    return answered(request, {"tags": []})


@routes.get("/jobs")
def get_all_jobs(request: Request, ask: Ask, limit: Limit = 100, offset: Offset = 0) -> Response:
    """A page of all jobs."""
    return answered(request, _jobs(ask.reader, None, limit, offset))


@routes.get("/namespaces/{namespace:path}/jobs")
def get_jobs(request: Request, ask: Ask, namespace: str, limit: Limit = 100, offset: Offset = 0) -> Response:
    """A page of the jobs of a namespace."""
    return answered(request, _jobs(ask.reader, namespace, limit, offset))


def _jobs(reader: GraphReader, namespace: str | None, limit: int, offset: int) -> Value:
    rows, total = page(reader, "job", namespace, limit, offset)
    runs = last_runs(reader, rows)
    return {"jobs": [job_value(row, runs) for row in rows], "totalCount": total}


@routes.get("/namespaces/{namespace:path}/datasets")
def get_datasets(request: Request, ask: Ask, namespace: str, limit: Limit = 100, offset: Offset = 0) -> Response:
    """A page of the datasets of a namespace."""
    rows, total = page(ask.reader, "dataset", namespace, limit, offset)
    return answered(request, {"datasets": [dataset_value(row) for row in rows], "totalCount": total})


@routes.get("/namespaces/{namespace:path}/jobs/{name:path}/runs")
def get_runs(request: Request, ask: Ask, namespace: str, name: str, limit: Limit = 100) -> Response:
    """The latest runs of a job."""
    runs = list_runs(ask.reader, RunFilter(job=job_key(namespace, name)), ask.now, limit)
    return answered(request, {"runs": [line_value(run) for run in runs], "totalCount": len(runs)})


@routes.get("/namespaces/{namespace:path}/jobs/{name:path}")
def get_job(request: Request, ask: Ask, namespace: str, name: str) -> Response:
    """One job."""
    rows = list(details(ask.reader, "job", [job_key(namespace, name)]).values())
    if not rows:
        raise NotFound(f"no job {name!r} in {namespace!r}")
    return answered(request, job_value(rows[0], last_runs(ask.reader, rows)))


@routes.get("/namespaces/{namespace:path}/datasets/{name:path}")
def get_dataset(request: Request, ask: Ask, namespace: str, name: str) -> Response:
    """One dataset."""
    rows = list(details(ask.reader, "dataset", [dataset_key(namespace, name)]).values())
    if not rows:
        raise NotFound(f"no dataset {name!r} in {namespace!r}")
    return answered(request, dataset_value(rows[0]))


@routes.get("/namespaces/{namespace:path}")
def get_namespace(request: Request, ask: Ask, namespace: str) -> Response:
    """One namespace."""
    if namespace not in namespaces(ask.reader):
        raise NotFound(f"no namespace {namespace!r}")
    return answered(request, namespace_value(namespace))


@routes.get("/lineage")
def get_lineage(
    request: Request,
    ask: Ask,
    node_id: Annotated[str, Query(alias="nodeId", min_length=1, max_length=4_100)],
    depth: Annotated[int, Query(ge=0)] = 20,
) -> Response:
    """The graph around a node, ``dataset:namespace:name`` or ``job:namespace:name``, up and down to a depth."""
    start = node_named(ask.reader, node_id)
    scope = Scope(TraversalLimits(min(depth, ask.settings.max_depth), nodes=ask.settings.max_nodes))
    nodes: dict[str, Node] = {}
    edges: set[tuple[str, str]] = set()
    for direction in DIRECTIONS:
        _gather(ask.reader, start, direction, scope, nodes, edges)
    return answered(request, {"graph": _graph(ask.reader, nodes, edges)})


def _gather(
    reader: GraphReader,
    start: Node,
    direction: Direction,
    scope: Scope,
    nodes: dict[str, Node],
    edges: set[tuple[str, str]],
) -> None:
    walk = traverse(reader, start, direction, scope)
    nodes.update(walk.nodes)
    edges.update((edge.source, edge.target) for edge in walk.edges.values() if edge.kind != "alias")


def node_names(rest: str) -> list[tuple[str, str]]:
    """Return every (namespace, name) that the rest of a node id can mean: both may hold colons."""
    parts = rest.split(":")
    return [(":".join(parts[:cut]), ":".join(parts[cut:])) for cut in range(1, len(parts))]


def node_named(reader: GraphReader, node_id: str) -> Node:
    """Return the node that an id names; raises NotFound, Problem for what is no id."""
    kind, _, rest = node_id.partition(":")
    if kind not in NODE_TYPES:
        raise Problem(400, "nodeId is dataset:namespace:name or job:namespace:name")
    names = node_names(rest)
    listed: Listed = "job" if kind == "job" else "dataset"
    key_of = job_key if kind == "job" else dataset_key
    found = details(reader, listed, [key_of(*name) for name in names])
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
    coming: dict[str, list[Value]] = {key: [] for key in nodes}
    going: dict[str, list[Value]] = {key: [] for key in nodes}
    for source, target in sorted(edges, key=lambda ends: (ids[ends[0]], ids[ends[1]])):
        edge = {"origin": ids[source], "destination": ids[target]}
        going[source].append(edge)
        coming[target].append(edge)
    return [
        {
            "id": ids[key],
            "type": NODE_TYPES[node.kind],
            "data": values[key],
            "inEdges": coming[key],
            "outEdges": going[key],
        }
        for key, node in sorted(nodes.items(), key=lambda item: ids[item[0]])
    ]


def node_id_of(node: Node) -> str:
    """Return ``dataset:namespace:name`` or ``job:namespace:name``."""
    return f"{node.kind}:{node.name[0]}:{node.name[1]}"


@routes.get("/search")
def get_search(request: Request, ask: Ask, q: Annotated[str, Query(min_length=1)], limit: Limit = 10) -> Response:
    """Datasets and jobs whose name holds a text."""
    found = search(ask.reader, q, ("dataset", "job"), limit)[:limit]
    results = [_result(node) for node in found]
    return answered(request, {"totalCount": len(results), "results": results})


def _result(node: Node) -> Value:
    named = {"type": NODE_TYPES[node.kind], "name": node.name[1], "namespace": node.name[0]}
    return named | {"nodeId": node_id_of(node), "updatedAt": None}


def job_value(row: Row, runs: Mapping[str, Row]) -> Value:
    """Return a job in Marquez's shape; ``createdAt`` is the start of its current version."""
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
        "location": member(facets, "sourceCodeLocation", "url"),
        "description": member(facets, "documentation", "description"),
        "currentVersion": row["version"],
        "latestRun": None if last is None else run_value(last),
        "facets": facets,
    }


def _job_type(facets: Value) -> str:
    return JOB_TYPES.get(str(member(facets, "jobType", "processingType")), "BATCH")


def member(facets: Value, facet: str, name: str) -> Any:
    """Return a member of a facet; None where there is none."""
    told = facets.get(facet)
    return told.get(name) if isinstance(told, dict) else None


def dataset_value(row: Row) -> Value:
    """Return a dataset in Marquez's shape, with the schema of its current version or else of its facet."""
    facets = facets_of(row["facets"])
    named = json.loads(row["schema"]) if row["schema"] else []
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
        "fields": field_values(named),
        "tags": [],
        "description": member(facets, "documentation", "description"),
        "currentVersion": row["version"],
        "deleted": bool(row["dropped"]),
        "facets": facets,
    }


def field_values(schema: Iterable[Sequence[str]]) -> list[Value]:
    """Return the fields ``[name, type]`` or ``[name]`` of a schema in Marquez's shape."""
    return [_field(*each) for each in schema]


def _field(name: str, kind: str | None = None) -> Value:
    return {"name": name, "type": kind, "tags": [], "description": None}


def run_value(row: Row) -> Value:
    """Return a run in Marquez's shape."""
    times = {name: row[name].to_native() if row[name] else None for name in ("startedAt", "endedAt", "lastEventAt")}
    return _run(row["id"], row["state"], times["startedAt"], times["endedAt"], times["lastEventAt"])


def line_value(line: RunLine) -> Value:
    """Return a run of a list in Marquez's shape."""
    times = [
        None if text is None else datetime.fromisoformat(text) for text in (line.started, line.ended, line.last_event)
    ]
    return _run(line.id, line.state, *times)


def _run(
    run_id: str, state: str | None, started: datetime | None, ended: datetime | None, last: datetime | None
) -> Value:
    took = int((ended - started).total_seconds() * 1000) if started and ended else None
    return {
        "id": run_id,
        "createdAt": time_text(started or last),
        "updatedAt": time_text(last),
        "nominalStartTime": None,
        "nominalEndTime": None,
        "state": STATES.get(state or "", state),
        "startedAt": time_text(started),
        "endedAt": time_text(ended),
        "durationMs": took,
        "args": {},
        "facets": {},
    }
