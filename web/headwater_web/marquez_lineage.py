"""Marquez's lineage resources: ``/lineage?nodeId=…``, and ``/runlineage/upstream?runId=…``.

A graph of lineage is the answer of headwater's own question about it; one more statement reads what Marquez's page shows of each
node beside that. Its nodes have no ``facets``: they would be most of the answer, and the page reads those of one node at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Response

from headwater_avro.names import MAX_KEY_LENGTH, node_key
from headwater_graph.queries.answers import Answer, Node
from headwater_graph.queries.catalog.finding import NotFound, find_run
from headwater_graph.queries.catalog.pages import Listed, details
from headwater_graph.queries.keys import names_in, run_node_key
from headwater_graph.queries.lineage.component import DIRECTIONS
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.runs.job_runs import latest_first, open_runs
from headwater_graph.queries.runs.run_graph import run_graph
from headwater_graph.queries.values import time_text

from .graph_api import Context, RequestContext
from .marquez_values import (
    NODE_TYPES,
    STATES,
    Value,
    facet_member,
    field_values,
    job_type,
    key_value,
    node_id_of,
    run_fields,
    run_value,
    tag_names,
)
from .problems import Problem

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


class _ShownFacets(msgspec.Struct):
    """The facets that a node shows; the others are not decoded."""

    schema: Any = None
    documentation: Any = None
    tags: Any = None
    jobType: Any = None
    sourceCodeLocation: Any = None


_FACETS = msgspec.json.Decoder(_ShownFacets)
_TEXTS = ('"documentation"', '"tags"', '"jobType"', '"sourceCodeLocation"', '"description"')
"""What facets contain that show more of a node than its schema."""


@routes.get("/lineage/", include_in_schema=False)
@routes.get("/lineage")
def get_lineage(
    context: Context,
    node_id: Annotated[str, Query(alias="nodeId", min_length=1, max_length=4_100)],
    depth: Annotated[int, Query(ge=0)] = 20,
) -> Response:
    """Return the lineage graph of a node, ``dataset:namespace:name`` or ``job:namespace:name``, in both directions to a depth."""
    start = node_named(context.reader, node_id)
    scope = Scope(TraversalLimits(min(depth, context.settings.max_depth), nodes=context.settings.max_nodes))
    answers = [lineage(context.reader, start, direction, context.now, scope) for direction in DIRECTIONS]
    nodes = {node.key: node for answer in answers for node in answer.nodes}
    return context.answer({"graph": _graph(nodes, _edges(answers), _values(context.reader, list(nodes.values())))})


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


def _edges(answers: Iterable[Answer]) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for answer in answers for edge in answer.edges if edge.kind != "alias"}


def _values(reader: GraphReader, nodes: Sequence[Node]) -> dict[str, Value]:
    """Return what the nodes show, by key."""
    jobs = {node.key: node for node in nodes if node.kind == "job"}
    datasets = {node.key: node for node in nodes if node.kind == "dataset"}
    runs = [[key, run_node_key(str(node.facts.get("lastRun") or ""))] for key, node in jobs.items()]
    (row,) = reader.rows("catalog/lineage_details", jobs=runs, datasets=list(datasets), names=list(_TEXTS))
    values = {each[0]: _dataset_value(datasets[each[0]], each) for each in row["datasets"]}
    unended: dict[str, Value] = {}
    for run in latest_first(open_runs(reader, list(jobs)) if jobs else []):
        unended.setdefault(run["at"], run_value(run))
    return values | {each[0]: _job_value(jobs[each[0]], each, unended.get(each[0])) for each in row["jobs"]}


def _facets_of(text: str | None) -> Value:
    shown = _FACETS.decode(text) if text else _ShownFacets()
    return {name: value for name, value in msgspec.structs.asdict(shown).items() if value is not None}


def _job_value(node: Node, details_: Sequence[Any], unended: Value | None) -> Value:
    _, text, created, parent, run, *times, inputs, outputs = details_
    facets = _facets_of(text)
    ended = None if run is None else run_fields(run, *times)
    latest = max((each for each in (ended, unended) if each), key=lambda each: str(each["updatedAt"]), default=None)
    return {
        "id": key_value(node.name),
        "type": job_type(facets),
        "name": node.name[1],
        "simpleName": node.name[1],
        "parentJobName": parent,
        "parentJobUuid": None,
        "namespace": node.name[0],
        "createdAt": time_text(created) or (latest and latest["createdAt"]),
        "updatedAt": latest["updatedAt"] if latest else node.facts.get("since"),
        "inputs": [key_value(key) for key in sorted(inputs)],
        "outputs": [key_value(key) for key in sorted(outputs)],
        "location": facet_member(facets, "sourceCodeLocation", "url"),
        "description": facet_member(facets, "documentation", "description"),
        "tags": tag_names(facets),
        "latestRun": latest,
    }


def _dataset_value(node: Node, details_: Sequence[Any]) -> Value:
    _, text, schema, created = details_
    facets = _facets_of(text)
    written = node.facts.get("writtenAt")
    return {
        "id": key_value(node.name),
        "type": "DB_TABLE",
        "name": node.name[1],
        "physicalName": node.name[1],
        "namespace": node.name[0],
        "sourceName": node.name[0],
        "createdAt": time_text(created),
        "updatedAt": written,
        "lastModifiedAt": written,
        "fields": field_values(schema, facets),
        "facets": {},
        "tags": tag_names(facets),
        "description": facet_member(facets, "documentation", "description"),
        "deleted": "dropped" in node.status,
    }


def _graph(nodes: Mapping[str, Node], edges: Iterable[tuple[str, str]], values: Mapping[str, Value]) -> list[Value]:
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
            "type": NODE_TYPES[nodes[key].kind],
            "data": values.get(key),
            "inEdges": incoming[key],
            "outEdges": outgoing[key],
        }
        for key in sorted(nodes, key=ids.__getitem__)
    ]


@routes.get("/runlineage/upstream")
def get_upstream_runs(
    context: Context,
    run_id: Annotated[str, Query(alias="runId", min_length=1, max_length=MAX_KEY_LENGTH)],
    depth: Annotated[int, Query(ge=0)] = 20,
) -> Response:
    """Return a run and the runs that made what it read, back to a depth, the nearest first, each with the versions it read."""
    limits = TraversalLimits(min(depth, context.settings.max_depth), nodes=context.settings.max_nodes)
    answer = run_graph(context.reader, find_run(context.reader, run_id), "upstream", context.now, limits)
    return context.answer({"runs": _upstream_runs(context, answer)})


def _upstream_runs(context: RequestContext, answer: Answer) -> list[Value]:
    nodes = answer.by_key()
    made_by = {edge.target: nodes[edge.source].name[0] for edge in answer.edges if edge.kind == "wrote"}
    read: dict[str, list[Value]] = {}
    for edge in answer.edges:
        if edge.kind == "read":
            namespace, name, version = nodes[edge.source].name
            use = {
                "namespace": namespace,
                "name": name,
                "version": version,
                "producedByRunId": made_by.get(edge.source),
            }
            read.setdefault(edge.target, []).append(use)
    runs = [node for node in answer.nodes if node.kind == "run"]
    versions = {
        row["id"]: row["version"] for row in context.reader.rows("runs/versions", keys=[run.key for run in runs])
    }
    return [_upstream_run(run, versions.get(run.name[0]), read.get(run.key, [])) for run in runs]


def _upstream_run(run: Node, version: str | None, inputs: list[Value]) -> Value:
    job = run.facts.get("job")
    state = run.facts.get("state")
    times = {"start": run.facts.get("startedAt"), "end": run.facts.get("endedAt")}
    return {
        "job": None if job is None else {**key_value(job), "version": version},
        "run": {"id": run.name[0], **times, "status": STATES.get(str(state), state)},
        "inputs": sorted(inputs, key=lambda use: (use["namespace"], use["name"])),
    }
