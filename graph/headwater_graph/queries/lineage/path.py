"""How data gets from one dataset or job to another: a shortest way, in jobs."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from msgspec.structs import replace

from headwater_graph.queries.answers import Answer, Edge, Node
from headwater_graph.queries.catalog.node_status import with_marks
from headwater_graph.queries.lineage.lineage import Scope, in_order, walked
from headwater_graph.queries.lineage.traversal import Limits, Walk
from headwater_graph.queries.reader import GraphReader

ANY_DEPTH = Scope(Limits(depth=None))


def path(
    reader: GraphReader,
    source: Node,
    target: Node,
    now: datetime,
    scope: Scope = ANY_DEPTH,
) -> Answer:
    """Return a shortest way by which data flows from ``source`` to ``target``; an answer without nodes if there is none.

    If it has cuts, there may be a way beyond the limits.
    """
    walk = walked(reader, source, "downstream", scope, target.key)
    keys = _way(walk, target.key) if target.key in walk.nodes else []
    distance = {key: place for place, key in enumerate(keys)}
    marked = with_marks(reader, (walk.nodes[key] for key in keys), now, scope.as_of)
    nodes = tuple(sorted((replace(n, depth=distance[n.key]) for n in marked), key=lambda node: node.depth))
    edges = in_order((_edge(walk, *ends) for ends in pairwise(keys)), nodes)
    question = {"direction": "downstream", "start": list(source.name), "kind": source.kind, "to": list(target.name)}
    question |= scope.value()
    return Answer(question, tuple(keys[:1]), nodes, edges, () if keys else tuple(walk.cuts))


def _way(walk: Walk, target: str) -> list[str]:
    """The nodes from the start of a walk to one that it met, each by the step that met it first."""
    keys, at = [target], target
    while at in walk.came:
        dataset, job = walk.came[at]
        keys += [key for key in (job, dataset) if key is not None]
        at = keys[-1] if dataset is None else dataset
    return keys[::-1]


def _edge(walk: Walk, source: str, target: str) -> Edge:
    """The edge between two neighbours of a way, which an alias may have stored the other way round."""
    kinds = [(source, target, "feeds", False), (source, target, "produces", False)]
    kinds += [(source, target, "alias", False), (target, source, "alias", False)]
    return next(walk.edges[kind] for kind in kinds if kind in walk.edges)
