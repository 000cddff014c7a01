"""What a change of a dataset, job or column reaches: jobs, datasets, columns, owners, last runs, in order of distance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from headwater_graph.queries.answers import Answer, Node, nearest_first
from headwater_graph.queries.catalog.node_status import with_marks
from headwater_graph.queries.keys import dataset_node_key, job_node_key
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.lineage import CURRENT, Scope, lineage
from headwater_graph.queries.reader import GraphReader


def impact(
    reader: GraphReader,
    start: Node,
    now: datetime,
    *,
    columns: Iterable[str] = (),
    scope: Scope = CURRENT,
) -> Answer:
    """Return all that depends on a dataset or job, nearest first; of ``columns``, only what depends on those.

    The start itself is not among the nodes. Column by column the current graph alone is known:
    of ``scope`` the limits count, and ``active_since``.
    """
    wanted = tuple(columns)
    if not wanted:
        answer = lineage(reader, start, "downstream", now, scope)
        return replace(answer, nodes=tuple(node for node in answer.nodes if node.key != start.key))
    answer = column_lineage(reader, start, "downstream", wanted, scope.limits, scope.active_since)
    around = with_marks(reader, _around(answer, start), now)
    reached = [node for node in answer.nodes if node.key not in answer.start]
    return replace(answer, nodes=nearest_first([*reached, *around]))


def _around(answer: Answer, start: Node) -> Iterable[Node]:
    """The datasets and jobs of the columns of an answer, each as near as the nearest of its columns."""
    found: dict[str, Node] = {}
    for node in answer.nodes:
        namespace, dataset, _ = node.name
        _keep_nearest(found, Node(dataset_node_key(namespace, dataset), "dataset", (namespace, dataset), node.depth))
    nodes = answer.by_key()
    for edge in answer.edges:
        if job := edge.facts.get("job"):
            depth = nodes[edge.target].depth
            _keep_nearest(found, Node(job_node_key(*job), "job", tuple(job), depth))
    found.pop(start.key, None)
    return found.values()


def _keep_nearest(found: dict[str, Node], node: Node) -> None:
    if node.key not in found or node.depth < found[node.key].depth:
        found[node.key] = node
