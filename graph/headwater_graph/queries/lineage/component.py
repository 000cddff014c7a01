"""The connected component of a dataset or job: the same nodes and edges from whichever of them one starts (specification 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from headwater_graph.queries.answers import Answer, Cut, Direction, Edge, Node, nearest_first
from headwater_graph.queries.catalog.node_status import told, with_marks
from headwater_graph.queries.lineage.lineage import CURRENT, GraphSteps, Scope, in_order
from headwater_graph.queries.lineage.traversal import Hop, Limits, Steps
from headwater_graph.queries.reader import GraphReader

Side: TypeAlias = Literal["job", "dataset"]

DIRECTIONS: tuple[Direction, Direction] = ("upstream", "downstream")


@dataclass(slots=True)
class ComponentWalk:
    """A walk along all edges in both directions; ``steps`` are those upstream and those downstream."""

    steps: tuple[Steps, Steps]
    limits: Limits
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], Edge] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)

    def go(self, start: Node) -> None:
        """Walk until nothing new is met or the limit on nodes says stop."""
        self.nodes[start.key] = start
        jobs = [start.key] if start.kind == "job" else []
        datasets = [start.key] if start.kind == "dataset" else []
        depth = 0
        while (jobs or datasets) and not self.cuts:
            depth += 1
            datasets = self._aliased([*datasets, *self._step("dataset", jobs, depth)], depth)
            jobs, datasets = self._step("job", datasets, depth), []

    def _step(self, kind: Side, keys: Sequence[str], depth: int) -> list[str]:
        """Follow all edges of some nodes to the other side; return the nodes met for the first time."""
        met: list[str] = []
        for steps, direction in zip(self.steps, DIRECTIONS, strict=True) if keys else ():
            ask = steps.jobs if kind == "job" else steps.datasets
            hops = ask(keys, self.limits.rows)
            self._note_size(len(hops))
            met += [hop.key for hop in hops if self._meet(hop, kind, direction, depth)]
        return met

    def _meet(self, hop: Hop, kind: Side, direction: Direction, depth: int) -> bool:
        new = hop.key not in self.nodes
        if new and len(self.nodes) >= self.limits.nodes:
            self._note_size(self.limits.rows)
            return False
        if new:
            self.nodes[hop.key] = Node(hop.key, kind, hop.name, depth)
        feeds = (direction == "downstream") == (kind == "job")
        source, target = (hop.at, hop.key) if direction == "downstream" else (hop.key, hop.at)
        edge = Edge(source, target, "feeds" if feeds else "produces", told({"version": hop.version}))
        self.edges.setdefault((source, target, edge.kind), edge)
        return new

    def _aliased(self, datasets: Sequence[str], depth: int) -> list[str]:
        """Return the datasets with all their other names (specification 6.7)."""
        level = asked = list(datasets)
        while asked:
            met = []
            for hop in self.steps[0].aliases(asked, self.limits.rows):
                if hop.key not in self.nodes:
                    self.nodes[hop.key] = Node(hop.key, "dataset", hop.name, depth)
                    met.append(hop.key)
                ends = sorted((hop.at, hop.key))
                self.edges.setdefault((ends[0], ends[1], "alias"), Edge(ends[0], ends[1], "alias"))
            level, asked = level + met, met
        return level

    def _note_size(self, rows: int) -> None:
        if rows >= self.limits.rows and not self.cuts:
            self.cuts.append(Cut(None, "size", self.limits.nodes))


def component(reader: GraphReader, start: Node, now: datetime, scope: Scope = CURRENT) -> Answer:
    """Return all that is connected with a dataset or job, whatever the direction; of the limits, ``nodes`` counts."""
    limits = Limits(None, scope.limits.rows, scope.limits.nodes)
    scope = replace(scope, limits=limits)
    walk = ComponentWalk((GraphSteps(reader, "upstream", scope), GraphSteps(reader, "downstream", scope)), limits)
    walk.go(start)
    nodes = with_marks(reader, nearest_first(walk.nodes.values()), now, scope.as_of)
    question = {"direction": "both", "start": list(start.name), "kind": start.kind} | scope.value()
    return Answer(question, (start.key,), nodes, in_order(walk.edges.values(), nodes), tuple(walk.cuts))
