"""A shortest path by which data flows from one dataset or job to another, counted in jobs."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from msgspec.structs import replace

from headwater_graph.queries.answers import Answer, Edge, Node
from headwater_graph.queries.catalog.node_status import with_status
from headwater_graph.queries.lineage.lineage import in_order, traverse
from headwater_graph.queries.lineage.lineage_traversal import LineageTraversal
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader

ANY_DEPTH = Scope(TraversalLimits(depth=None))


def path(reader: GraphReader, source: Node, target: Node, now: datetime, scope: Scope = ANY_DEPTH) -> Answer:
    """Return a shortest path by which data flows from ``source`` to ``target``; an answer without nodes if there is none.

    If it has truncations, there may be a path beyond the limits.
    """
    traversal = traverse(reader, source, "downstream", scope, target.key)
    keys = _path_to(traversal, target.key) if target.key in traversal.nodes else []
    found = with_status(reader, (traversal.nodes[key] for key in keys), now, scope.as_of)
    nodes = tuple(replace(node, depth=position) for position, node in enumerate(found))
    edges = in_order((_edge(traversal, *ends) for ends in pairwise(keys)), nodes)
    question = {"direction": "downstream", "start": list(source.name), "kind": source.kind, "to": list(target.name)}
    question |= scope.value()
    return Answer(question, tuple(keys[:1]), nodes, edges, () if keys else traversal.truncations)


def _path_to(traversal: LineageTraversal, target: str) -> list[str]:
    """Return the nodes from the start of a traversal to one that it reached, each by the step that reached it first."""
    keys, at = [target], target
    while at in traversal.reached_from:
        dataset, job = traversal.reached_from[at]
        keys += [key for key in (job, dataset) if key is not None]
        at = keys[-1] if dataset is None else dataset
    return keys[::-1]


def _edge(traversal: LineageTraversal, source: str, target: str) -> Edge:
    """Return the edge between two neighbours on a path; the edge of an alias may be stored the other way round."""
    which = [
        (source, target, "feeds"),
        (source, target, "produces"),
        (source, target, "alias"),
        (target, source, "alias"),
    ]
    keys = ((*ends_and_kind, False, "") for ends_and_kind in which)
    return next(traversal.edges[key] for key in keys if key in traversal.edges)
