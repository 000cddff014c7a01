"""The connected component of a dataset or job: the same nodes and edges from each of its nodes (specification 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from headwater_graph.queries.answers import Answer, Direction, Edge, Node, nearest_first
from headwater_graph.queries.catalog.node_status import with_status
from headwater_graph.queries.lineage.graph_neighbours import GraphNeighbours
from headwater_graph.queries.lineage.lineage import in_order
from headwater_graph.queries.lineage.lineage_traversal import EDGE_KINDS
from headwater_graph.queries.lineage.neighbours import Neighbour, Neighbours
from headwater_graph.queries.lineage.scope import CURRENT, Scope, TraversalLimits
from headwater_graph.queries.lineage.traversal import Traversal
from headwater_graph.queries.reader import GraphReader
from headwater_graph.queries.values import present

NodeKind: TypeAlias = Literal["job", "dataset"]

DIRECTIONS: tuple[Direction, Direction] = ("upstream", "downstream")


@dataclass(slots=True)
class ComponentTraversal(Traversal):
    """The traversal of all edges in both directions; ``neighbours`` are those upstream and those downstream.

    A level consists of datasets and jobs. The inputs that an edge lists (specification 6.6) restrict nothing here.
    """

    neighbours: tuple[Neighbours, Neighbours]

    def expand(self, frontier: list[str], depth: int) -> list[str]:
        new = self._adjacent("dataset", [key for key in frontier if self.nodes[key].kind == "job"], depth)
        datasets = [key for key in frontier if self.nodes[key].kind == "dataset"]
        return self._adjacent("job", self._with_aliases([*datasets, *new], depth), depth)

    def close(self, frontier: list[str]) -> None:
        """Record nothing: a component has no limit on depth."""

    def _adjacent(self, kind: NodeKind, keys: Sequence[str], depth: int) -> list[str]:
        """Add the jobs of some datasets, or the datasets of some jobs; return those that are new."""
        new: list[str] = []
        for neighbours, direction in zip(self.neighbours, DIRECTIONS, strict=True) if keys else ():
            read = neighbours.jobs if kind == "job" else neighbours.datasets
            found = read(keys, self.limits.rows)
            self.truncate_rows(found)
            new += [neighbour.key for neighbour in found if self._reach(neighbour, kind, direction, depth)]
        return new

    def _reach(self, neighbour: Neighbour, kind: NodeKind, direction: Direction, depth: int) -> bool:
        new = neighbour.key not in self.nodes
        if not self.add(Node(neighbour.key, kind, neighbour.name, depth)):
            return False
        ends = (neighbour.at, neighbour.key) if direction == "downstream" else (neighbour.key, neighbour.at)
        edge_kind = EDGE_KINDS[direction][0 if kind == "job" else 1]
        self.connect(Edge(*ends, edge_kind, present({"version": neighbour.version})))
        return new

    def _with_aliases(self, datasets: Sequence[str], depth: int) -> list[str]:
        """Return the datasets with all their aliases (specification 6.7)."""
        level = waiting = list(datasets)
        while waiting:
            new = []
            for alias in self.neighbours[0].aliases(waiting, self.limits.rows):
                is_new = alias.key not in self.nodes
                if self.add(Node(alias.key, "dataset", alias.name, depth)):
                    new += [alias.key] if is_new else []
                    self.connect(Edge(min(alias.at, alias.key), max(alias.at, alias.key), "alias"))
            level, waiting = level + new, new
        return level


def component(reader: GraphReader, start: Node, now: datetime, scope: Scope = CURRENT) -> Answer:
    """Return all that is connected with a dataset or job, whatever the direction; of the limits, ``nodes`` counts."""
    limits = TraversalLimits(None, scope.limits.rows, scope.limits.nodes)
    scope = replace(scope, limits=limits)
    traversal = ComponentTraversal(
        limits, (GraphNeighbours(reader, "upstream", scope), GraphNeighbours(reader, "downstream", scope))
    )
    traversal.add(start)
    traversal.run([start.key])
    nodes = with_status(reader, nearest_first(traversal.nodes.values()), now, scope.as_of)
    question = {"direction": "both", "start": list(start.name), "kind": start.kind} | scope.value()
    edges = in_order(traversal.edges.values(), nodes)
    return Answer(question, (start.key,), nodes, edges, traversal.truncations)
