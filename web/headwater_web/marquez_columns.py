"""Marquez's column lineage resource, ``/column-lineage``: fields as nodes, with their input fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from headwater_avro.names import MAX_KEY_LENGTH
from headwater_graph.model.facet_properties import facets_of
from headwater_graph.queries.answers import Answer, Direction, Edge, Node
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.pages import details
from headwater_graph.queries.keys import dataset_node_key, names_in
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import GraphReader, Row

from .graph_api import Context
from .marquez_lineage import node_named
from .marquez_values import Value, field_values, transformation_value
from .problems import Problem

MOST_COLONS = 100
"""Colons in the id of a field: it has about 5,000 possible readings, half the square of their number."""

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
    context: Context,
    node_id: Annotated[str, Query(alias="nodeId", min_length=1, max_length=6_200)],
    depth: Annotated[int, Query(ge=0)] = 20,
    with_downstream: Annotated[bool, Query(alias="withDownstream")] = False,
) -> Response:
    """Return the fields from which a node's fields are derived, and with ``withDownstream`` those derived from them.

    A node is ``dataset:namespace:name``, ``datasetField:namespace:dataset:field`` or ``job:namespace:name`` (its outputs).
    """
    limits = TraversalLimits(min(depth, context.settings.max_depth), nodes=context.settings.max_nodes)
    directions: tuple[Direction, ...] = ("upstream", "downstream") if with_downstream else ("upstream",)
    graph = _Graph()
    for dataset, columns in _starts(context.reader, node_id):
        for direction in directions:
            graph.add(column_lineage(context.reader, dataset, direction, columns, limits))
    return context.answer({"graph": _values(context.reader, graph)})


def _starts(reader: GraphReader, node_id: str) -> list[tuple[Node, list[str]]]:
    """Return the datasets of a node id, each with the selected columns (none: all)."""
    kind, _, rest = node_id.partition(":")
    if kind == "datasetField":
        return [_field_named(reader, node_id, rest)]
    if kind not in ("dataset", "job"):
        raise Problem(
            400, "nodeId must be dataset:namespace:name, datasetField:namespace:dataset:field or job:namespace:name"
        )
    node = node_named(reader, node_id)
    if kind == "dataset":
        return [(node, [])]
    (row,) = details(reader, "job", [node.key]).values()
    return [(Node(dataset_node_key(*key), "dataset", (key[0], key[1])), []) for key in row["outputs"]]


def _field_named(reader: GraphReader, node_id: str, rest: str) -> tuple[Node, list[str]]:
    """Return the dataset and field of an id; names may contain colons, so every reading is tried."""
    if rest.count(":") > MOST_COLONS:
        raise Problem(
            400,
            f"nodeId has more than {MOST_COLONS} colons after datasetField: give the id of the dataset instead",
        )
    keys = list({dataset_node_key(*name): None for name, _ in _fields(rest)})
    if not keys and len(rest) > MAX_KEY_LENGTH:
        names = f"with names of at most {MAX_KEY_LENGTH} characters"
        raise Problem(400, f"nodeId must be datasetField:namespace:dataset:field, {names}")
    found = details(reader, "dataset", keys)
    for name, column in _fields(rest) if found else ():
        key = dataset_node_key(*name)
        rows = reader.rows("columns/of_dataset", key=key) if key in found else []
        if column in [row["name"] for row in rows]:
            return Node(key, "dataset", name), [column]
    raise NotFound(f"no node {node_id!r}")


def _fields(rest: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield every dataset and field that the end of an id can mean, the shortest field first."""
    end = rest.rfind(":")
    while end >= 0:
        column = rest[end + 1 :]
        if 0 < len(column) <= MAX_KEY_LENGTH:
            yield from ((name, column) for name in names_in(rest[:end], ":"))
        end = rest.rfind(":", 0, end)


def _values(reader: GraphReader, graph: _Graph) -> list[Value]:
    """Return Marquez's nodes: an edge's origin is the node that lists it, whatever the direction of the data."""
    keys = sorted({dataset_node_key(*node.name[:2]) for node in graph.nodes.values()})
    versions = {(row["namespace"], row["name"]): row for row in details(reader, "dataset", keys).values()}
    types: dict[tuple[str, ...], dict[str, str | None]] = {name: _types(row) for name, row in versions.items()}
    ids = {key: field_id(node) for key, node in graph.nodes.items()}
    incoming, outgoing = _neighbours(graph.edges, 1), _neighbours(graph.edges, 0)
    return [
        {
            "id": ids[key],
            "type": "DATASET_FIELD",
            "data": {
                **_data(node, versions, graph, incoming.get(key, [])),
                "fieldType": types.get(node.name[:2], {}).get(node.name[2]),
            },
            "inEdges": _edges(ids, key, incoming.get(key, ())),
            "outEdges": _edges(ids, key, outgoing.get(key, ())),
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
    named = {"namespace": namespace, "dataset": dataset, "field": column}
    derivations = [(other, edge) for other in inputs for edge in graph.edges[other, node.key]]
    derivations.sort(key=lambda pair: (field_id(graph.nodes[pair[0]]), str(pair[1].facts)))
    return named | {
        "datasetVersion": row["version"] if row else None,
        **transformation_value(derivations[0][1].facts if derivations else {}),
        "inputFields": [_input(graph.nodes[other], versions, edge) for other, edge in derivations],
    }


def _types(row: Row) -> dict[str, str | None]:
    """Return the types of a dataset's columns by name."""
    return {field["name"]: field["type"] for field in field_values(row["schema"], facets_of(row["facets"]))}


def _input(node: Node, versions: Mapping[tuple[str, str], Any], edge: Edge) -> Value:
    namespace, dataset, column = node.name
    row = versions.get((namespace, dataset))
    named = {"namespace": namespace, "dataset": dataset, "field": column}
    return named | {"datasetVersion": row["version"] if row else None, **transformation_value(edge.facts)}


def field_id(node: Node) -> str:
    """Return Marquez's node id of a field, ``datasetField:namespace:dataset:field``."""
    return f"datasetField:{':'.join(node.name)}"
