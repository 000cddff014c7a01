"""Lineage of datasets and jobs: upstream and downstream, now or as of a time (specification 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from headwater_avro.collection import collection_paused
from headwater_avro.times import format_time, micros_of
from headwater_graph.queries.answers import Answer, Direction, Edge, Node, Truncation, nearest_first
from headwater_graph.queries.catalog.node_status import with_status
from headwater_graph.queries.lineage.graph_neighbours import GraphNeighbours, last_writers
from headwater_graph.queries.lineage.level_traversal import LevelsFound, traverse_levels
from headwater_graph.queries.lineage.lineage_traversal import VERSION_TO_COME, LineageTraversal
from headwater_graph.queries.lineage.scope import CURRENT, Scope
from headwater_graph.queries.lineage.subgraph import EMPTY, Subgraph, read_subgraph
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.values import present, time_text


def lineage(reader: GraphReader, start: Node, direction: Direction, now: datetime, scope: Scope = CURRENT) -> Answer:
    """Return what feeds a dataset or job (upstream) or what it feeds (downstream), with all truncations (specification 6.3)."""
    with collection_paused():
        # A subgraph is one of the current graph.
        subgraph = EMPTY if scope.as_of else read_subgraph(reader, start, direction, scope.limits, now)
        found = _found(reader, start, direction, scope, subgraph)
        writers = _last_writers(reader, found, direction, scope.as_of or now)
        nodes = with_status(reader, found.nodes, now, scope.as_of, subgraph.status)
        edges = found.edges(nodes)
        nodes = tuple(_with_writer(node, writers.get(node.key)) for node in nodes) if writers else nodes
    question = {"direction": direction, "start": list(start.name), "kind": start.kind} | scope.value()
    notes = (*_deferred_note(reader, subgraph.deferred), *_retention_note(reader, scope.as_of))
    return Answer(question, (start.key,), nodes, edges, found.truncations, notes)


@dataclass(frozen=True, slots=True)
class TraversalFound:
    """What a traversal has found: nodes in the order of answers, without status, edges in any order, and truncations."""

    nodes: tuple[Node, ...]
    found_edges: Collection[Edge]
    truncations: tuple[Truncation, ...]

    def writers(self) -> Counter[str]:
        """Return how many jobs write each dataset now, by its key."""
        return Counter(edge.target for edge in self.found_edges if edge.kind == "produces" and not edge.former)

    def edges(self, nodes: Sequence[Node]) -> tuple[Edge, ...]:
        """Return the edges in the order of answers, with the versions of their jobs from ``nodes``, which have their facts."""
        facts = {node.key: {"version": node.facts.get("version")} for node in nodes if node.kind == "job"}
        return tuple(
            Edge(edge.source, edge.target, edge.kind, facts[edge.target if edge.kind == "feeds" else edge.source])
            if edge.facts is VERSION_TO_COME
            else edge
            for edge in in_order(self.found_edges, nodes)
        )


def _found(
    reader: GraphReader, start: Node, direction: Direction, scope: Scope, subgraph: Subgraph
) -> LevelsFound | TraversalFound:
    """Return what is within the scope, by levels where the subgraph has all of it."""
    if not scope.former_writers and scope.active_since is None:
        found = traverse_levels(subgraph, start, direction, scope.limits)
        if found:
            return found
    traversal = traverse(reader, start, direction, scope, subgraph=subgraph)
    return TraversalFound(nearest_first(traversal.nodes.values()), traversal.edges.values(), traversal.truncations)


def traverse(
    reader: GraphReader,
    start: Node,
    direction: Direction,
    scope: Scope,
    target: str | None = None,
    subgraph: Subgraph = EMPTY,
) -> LineageTraversal:
    """Return the traversal from a dataset or job until ``target`` is reached: nodes and edges without status."""
    closed, without_aliases = subgraph.closed(scope.limits.neighbours), subgraph.without_aliases()
    neighbours = GraphNeighbours(reader, direction, scope, closed, without_aliases)
    traversal = LineageTraversal(scope.limits, neighbours, direction, scope.former_writers, target)
    traversal.run_from(start)
    return traversal


def in_order(edges: Iterable[Edge], nodes: Sequence[Node]) -> tuple[Edge, ...]:
    """Return edges in the order of their ends among the nodes, so that equal answers are equal texts.

    Edges with the same ends and of the same kind stay in the order given.
    """
    found, position = list(edges), {node.key: number for number, node in enumerate(nodes)}
    rank = {kind: 2 * number for number, kind in enumerate(sorted({edge.kind for edge in found}))}
    # A number is made and compared faster than a tuple.
    ranks = 2 * len(rank)
    row = ranks * len(position)
    return tuple(
        sorted(found, key=lambda e: position[e.source] * row + position[e.target] * ranks + rank[e.kind] + e.former)
    )


def _deferred_note(reader: GraphReader, deferred: int | None) -> tuple[str, ...]:
    """Return a note where there is deferred work, so that the answer may change without new events."""
    count = sum(row["deferred"] for row in reader.rows("lineage/deferred_work")) if deferred is None else deferred
    return (f"the graph has {count} pieces of deferred work left",) if count else ()


def _retention_note(reader: GraphReader, as_of: datetime | None) -> tuple[str, ...]:
    """Return a note where retention has removed versions that were valid then (specification 10)."""
    horizon = max((row["horizon"] or 0 for row in reader.rows("lineage/horizon")), default=0) if as_of else 0
    if as_of is None or micros_of(as_of) >= horizon:
        return ()
    return (f"the answer may be incomplete: retention has removed what was no longer valid at {format_time(horizon)}",)


def _last_writers(
    reader: GraphReader, found: LevelsFound | TraversalFound, direction: Direction, until: datetime
) -> Mapping[str, tuple[Row, bool]]:
    """Return who wrote last the datasets that several jobs write, or none does any more, and whether a job does now, by key."""
    writers = found.writers()
    shared = sorted(dataset for dataset, jobs in writers.items() if jobs > 1)
    truncated = {truncation.at for truncation in found.truncations}
    orphans = sorted(
        node.key
        for node in (found.nodes if direction == "upstream" else ())
        if node.kind == "dataset" and node.key not in writers and node.key not in truncated
    )
    rows = last_writers(reader, [*shared, *orphans], 0, until)
    return {row["at"]: (row, row["at"] in writers) for row in rows}


def _with_writer(node: Node, writer: tuple[Row, bool] | None) -> Node:
    if writer is None:
        return node
    row, is_written_now = writer
    status = node.status if is_written_now else (*node.status, "no writer now")
    return replace(node, status=status, facts={**node.facts, "lastWriter": _writer_value(row)})


def _writer_value(row: Row) -> dict[str, Any]:
    return present(
        {
            "job": None if row["key"] is None else [row["namespace"], row["name"]],
            "version": row["version"],
            "since": time_text(row["since"]),
            "until": time_text(row["until"]),
            "run": row["run"],
            "state": row["state"],
            "at": time_text(row["time"]),
        }
    )
