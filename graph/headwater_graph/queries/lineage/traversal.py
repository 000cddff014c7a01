"""The breadth-first traversal that the answers about lineage, columns, components and runs share.

Theory of operation. A question about lineage asks for everything within reach of a start, each node at its least
distance. A traversal therefore goes level by level: ``expand`` reads the neighbours of all nodes of a level with a bounded
number of statements, and returns those that are reached for the first time. Because a level is complete before the next
one begins, the distance at which a node is first reached is its least one. Because a node enters ``nodes`` once and is
expanded once, neither cycles nor the number of paths costs anything.

Everything that a limit leaves out is recorded as a truncation, so an answer is complete exactly if it has none
(specification 6.3): ``close`` counts what lies beyond the last level, ``add`` refuses nodes beyond the limit, and
``truncate_neighbours`` compares what was read of a node with what it has. What a neighbour is, and which edges lead to it, is
the matter of the subclasses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field

from headwater_graph.queries.answers import Edge, Node, Truncation
from headwater_graph.queries.lineage.scope import TraversalLimits


@dataclass(slots=True)
class Traversal(ABC):
    """A breadth-first traversal; read ``nodes``, ``edges`` and ``truncations`` after ``run``."""

    limits: TraversalLimits
    nodes: dict[str, Node] = field(default_factory=dict, kw_only=True)
    edges: dict[tuple[str, str, str, bool, str], Edge] = field(default_factory=dict, kw_only=True)
    _truncations: list[Truncation] = field(default_factory=list, kw_only=True)
    is_full: bool = field(default=False, kw_only=True)

    def run(self, frontier: list[str], depth: int = 0) -> None:
        """Continue from the nodes of one level until nothing new is reached or a limit ends it."""
        while frontier and not self.is_finished():
            if depth == self.limits.depth:
                self.close(frontier)
                return
            depth += 1
            frontier = self.expand(frontier, depth)

    @abstractmethod
    def expand(self, frontier: list[str], depth: int) -> list[str]:
        """Add the neighbours of a level at ``depth``, and return the nodes from which to continue."""

    @abstractmethod
    def close(self, frontier: list[str]) -> None:
        """Record what the depth limit leaves out beyond the last level."""

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        """What the limits left out, at nodes that are shown; the limit on nodes accounts for all others."""
        return tuple(
            truncation for truncation in self._truncations if truncation.at is None or truncation.at in self.nodes
        )

    def is_finished(self) -> bool:
        """Return whether nothing more can be added, or needs to be."""
        return self.is_full

    def add(self, node: Node) -> bool:
        """Add a node if the limit allows; return whether the answer has it."""
        if node.key in self.nodes:
            return True
        if len(self.nodes) >= self.limits.nodes:
            self.truncate_size()
            return False
        self.nodes[node.key] = node
        return True

    def connect(self, edge: Edge, qualifier: str = "") -> None:
        """Add an edge; of several with the same ends, kind and ``qualifier`` the first one stays."""
        self.edges.setdefault((edge.source, edge.target, edge.kind, edge.former, qualifier), edge)

    def truncate_size(self) -> None:
        """Record that the answer has as many nodes as it may have."""
        if not self.is_full:
            self._truncations.append(Truncation(None, "size", self.limits.nodes))
        self.is_full = True

    def truncate_rows(self, rows: Sized) -> None:
        """Record that a statement returned as many rows as it may return."""
        if len(rows) >= self.limits.rows:
            self.truncate_size()

    def truncate_neighbours(self, shown: Mapping[str, int], totals: Mapping[str, int]) -> None:
        """Record the nodes of which fewer neighbours are shown than there are."""
        wide = sorted(at for at, total in totals.items() if total > shown[at])
        self._truncations += [Truncation(at, "neighbours", shown[at], totals[at]) for at in wide]

    def truncate_depth(self, beyond: Mapping[str, Sized]) -> None:
        """Record how many neighbours of each node lie beyond the depth limit."""
        self._truncations += [Truncation(at, "depth", 0, len(far)) for at, far in sorted(beyond.items())]
