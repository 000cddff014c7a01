"""What a change of a dataset, job or column reaches: jobs, datasets, columns, owners, last runs, in order of distance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from headwater_graph.queries.answers import Answer, Node, nearest_first
from headwater_graph.queries.catalog.node_status import with_status
from headwater_graph.queries.keys import dataset_node_key, job_node_key
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import CURRENT, Scope
from headwater_graph.queries.reader import GraphReader


def impact(
    reader: GraphReader,
    start: Node,
    now: datetime,
    *,
    columns: Iterable[str] = (),
    scope: Scope = CURRENT,
) -> Answer:
    """Return all that depends on a dataset or job, or only on some of its ``columns``, nearest first.

    The start itself is not among the nodes. Columns are known of the current graph only: of ``scope`` the limits and
    ``active_since`` count then.
    """
    wanted = tuple(columns)
    if not wanted:
        answer = lineage(reader, start, "downstream", now, scope)
        return replace(answer, nodes=tuple(node for node in answer.nodes if node.key != start.key))
    answer = column_lineage(reader, start, "downstream", wanted, scope.limits, scope.active_since)
    around = with_status(reader, _datasets_and_jobs(answer, start), now)
    reached = [node for node in answer.nodes if node.key not in answer.start]
    return replace(answer, nodes=nearest_first([*reached, *around]))


def _datasets_and_jobs(answer: Answer, start: Node) -> Iterable[Node]:
    """Return the datasets and jobs of the columns of an answer, each as near as the nearest of its columns."""
    datasets = [(node.name[:2], node.depth) for node in answer.nodes]
    nodes = answer.by_key()
    jobs = [(tuple(edge.facts["job"]), nodes[edge.target].depth) for edge in answer.edges if "job" in edge.facts]
    found = [Node(dataset_node_key(*name), "dataset", name, depth) for name, depth in datasets]
    found += [Node(job_node_key(*name), "job", name, depth) for name, depth in jobs]
    farthest_first = sorted(found, key=lambda node: -node.depth)
    return {node.key: node for node in farthest_first if node.key != start.key}.values()
