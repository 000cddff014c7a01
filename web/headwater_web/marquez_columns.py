"""Column lineage in Marquez's shape: fields as nodes, with what each is derived from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from headwater_graph.queries.answers import Answer, Direction, Edge, Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.pages import details
from headwater_graph.queries.keys import dataset_key
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import GraphReader

from .graph_api import Ask
from .guard import answered
from .marquez import Value, node_named, node_names
from .problems import Problem

routes = APIRouter(prefix="/api/v1", tags=["marquez"])


@dataclass(slots=True)
class _Graph:
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str], list[Edge]] = field(default_factory=dict)

    def add(self, answer: Answer) -> None:
        self.nodes |= answer.by_key()
        for edge in answer.edges:
            if edge.kind == "derives":
                known = self.edges.setdefault((edge.source, edge.target), [])
                known += [edge] if edge not in known else []


@routes.get("/column-lineage")
def get_column_lineage(
    request: Request,
    ask: Ask,
    node_id: Annotated[str, Query(alias="nodeId", min_length=1, max_length=6_200)],
    depth: Annotated[int, Query(ge=0)] = 20,
    with_downstream: Annotated[bool, Query(alias="withDownstream")] = False,
) -> Response:
    """The fields that those of a node are derived from, and with ``withDownstream`` those derived from them.

    A node is ``dataset:namespace:name``, ``datasetField:namespace:dataset:field`` or ``job:namespace:name`` (its outputs).
    """
    limits = TraversalLimits(min(depth, ask.settings.max_depth), nodes=ask.settings.max_nodes)
    directions: tuple[Direction, ...] = ("upstream", "downstream") if with_downstream else ("upstream",)
    graph = _Graph()
    for dataset, columns in _starts(ask.reader, node_id):
        for direction in directions:
            graph.add(column_lineage(ask.reader, dataset, direction, columns, limits))
    return answered(request, {"graph": _values(ask.reader, graph)})


def _starts(reader: GraphReader, node_id: str) -> list[tuple[Node, list[str]]]:
    """The datasets that a node id means, with the columns asked for (none: all)."""
    kind, _, rest = node_id.partition(":")
    if kind == "datasetField":
        return [_field_named(reader, node_id, rest)]
    if kind not in ("dataset", "job"):
        raise Problem(
            400, "nodeId is dataset:namespace:name, datasetField:namespace:dataset:field or job:namespace:name"
        )
    node = node_named(reader, node_id)
    if kind == "dataset":
        return [(node, [])]
    (row,) = details(reader, "job", [node.key]).values()
    return [(Node(dataset_key(*key), "dataset", (key[0], key[1])), []) for key in row["outputs"]]


def _field_named(reader: GraphReader, node_id: str, rest: str) -> tuple[Node, list[str]]:
    """The dataset and field of an id; namespaces and names may hold colons, so every way to cut is tried."""
    ways = [(name, column) for dataset, column in _tails(rest) for name in node_names(dataset)]
    found = details(reader, "dataset", [dataset_key(*name) for name, _ in ways])
    for name, column in ways:
        key = dataset_key(*name)
        rows = reader.rows("columns/of_dataset", key=key) if key in found else []
        if column in [row["name"] for row in rows]:
            return Node(key, "dataset", name), [column]
    raise NotFound(f"no node {node_id!r}")


def _tails(rest: str) -> list[tuple[str, str]]:
    parts = rest.split(":")
    return [(":".join(parts[:cut]), ":".join(parts[cut:])) for cut in range(len(parts) - 1, 1, -1)]


def _values(reader: GraphReader, graph: _Graph) -> list[Value]:
    """The nodes in Marquez's shape: an edge begins at the node that shows it, whichever way data flows."""
    keys = sorted({dataset_key(*node.name[:2]) for node in graph.nodes.values()})
    versions = {(row["namespace"], row["name"]): row for row in details(reader, "dataset", keys).values()}
    ids = {key: field_id(node) for key, node in graph.nodes.items()}
    coming, going = _neighbours(graph.edges, 1), _neighbours(graph.edges, 0)
    return [
        {
            "id": ids[key],
            "type": "DATASET_FIELD",
            "data": _data(node, versions, graph, coming[key]) if coming.get(key) else None,
            "inEdges": _edges(ids, key, coming.get(key, ())),
            "outEdges": _edges(ids, key, going.get(key, ())),
        }
        for key, node in sorted(graph.nodes.items(), key=lambda item: ids[item[0]])
    ]


def _neighbours(edges: Iterable[tuple[str, str]], end: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for ends in edges:
        found.setdefault(ends[end], []).append(ends[1 - end])
    return found


def _edges(ids: Mapping[str, str], key: str, others: Iterable[str]) -> list[Value]:
    return [{"origin": ids[key], "destination": ids[other]} for other in sorted(others, key=ids.__getitem__)]


def _data(node: Node, versions: Mapping[tuple[str, str], Any], graph: _Graph, inputs: list[str]) -> Value:
    namespace, dataset, column = node.name
    row = versions.get((namespace, dataset))
    fields = dict(_typed(each) for each in json.loads(row["schema"])) if row and row["schema"] else {}
    named = {"namespace": namespace, "dataset": dataset, "field": column, "fieldType": fields.get(column)}
    told = [(other, edge) for other in inputs for edge in graph.edges[other, node.key]]
    told.sort(key=lambda pair: (field_id(graph.nodes[pair[0]]), str(pair[1].facts)))
    return named | {
        "datasetVersion": row["version"] if row else None,
        **_transformation(told[0][1]),
        "inputFields": [_input(graph.nodes[other], versions, edge) for other, edge in told],
    }


def _typed(field_: list[str]) -> tuple[str, str | None]:
    return field_[0], field_[1] if len(field_) > 1 else None


def _input(node: Node, versions: Mapping[tuple[str, str], Any], edge: Edge) -> Value:
    namespace, dataset, column = node.name
    row = versions.get((namespace, dataset))
    named = {"namespace": namespace, "dataset": dataset, "field": column}
    return named | {"datasetVersion": row["version"] if row else None, **_transformation(edge)}


def _transformation(edge: Edge) -> Value:
    facts = edge.facts
    kind = "/".join(str(facts[name]) for name in ("type", "subtype") if facts.get(name))
    return {"transformationDescription": facts.get("description"), "transformationType": kind or None}


def field_id(node: Node) -> str:
    """Return ``datasetField:namespace:dataset:field``."""
    return f"datasetField:{':'.join(node.name)}"
