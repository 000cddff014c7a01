"""Run-level lineage: what a run really read and what made that, back to the sources; or who read what it wrote (specification 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headwater_graph.queries.answers import Answer, Cut, Direction, Edge, Node, nearest_first
from headwater_graph.queries.catalog.finding import NotFound
from headwater_graph.queries.catalog.node_status import time_text, told
from headwater_graph.queries.lineage.lineage import in_order
from headwater_graph.queries.lineage.traversal import Limits
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.runs import run_words


@dataclass(slots=True)
class RunWalk:
    """A walk from run to run over the dataset versions between them; read ``nodes``, ``edges``, ``cuts`` afterwards."""

    reader: GraphReader
    direction: Direction
    limits: Limits
    now: datetime
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)
    _full: bool = False

    def go(self, start: str) -> None:
        """Walk from a run until nothing new is met or a limit says stop."""
        frontier, depth = [start], 0
        while frontier and not self._full:
            rows = self._neighbours(frontier)
            if depth == self.limits.depth:
                self.cuts += [Cut(at, "depth", 0, n) for at, n in Counter(row["at"] for row in rows).items()]
                return
            depth += 1
            frontier = [key for row in rows for key in self._meet(row, depth)]

    def _neighbours(self, runs: Sequence[str]) -> list[Row]:
        limits = {"fan": self.limits.neighbours, "rows": self.limits.rows}
        rows = self.reader.rows(f"{self.direction}_runs", keys=list(runs), **limits)
        shown = Counter(row["wide"] for row in rows)
        totals = {row["wide"]: row["total"] for row in rows}
        wide = [key for key, total in totals.items() if total > shown[key] >= self.limits.neighbours]
        self.cuts += [Cut(key, "neighbours", shown[key], totals[key]) for key in wide]
        if len(rows) >= self.limits.rows:
            self._cut_size()
        return rows

    def _meet(self, row: Row, depth: int) -> list[str]:
        """Add the version and the run of a row; return the run's key if it is met for the first time."""
        if not self._add(_version_node(row, depth)):
            return []
        self._connect(row["at"], row["version"], outward=self.direction == "downstream")
        if row["key"] is None:
            return []
        new = row["key"] not in self.nodes
        if not self._add(run_node(row, depth, self.now)):
            return []
        self._connect(row["key"], row["version"], outward=self.direction == "upstream")
        return [row["key"]] if new else []

    def _add(self, node: Node) -> bool:
        if node.key not in self.nodes and len(self.nodes) >= self.limits.nodes:
            self._cut_size()
            return False
        self.nodes.setdefault(node.key, node)
        return True

    def _connect(self, run: str, version: str, outward: bool) -> None:
        edge = Edge(run, version, "wrote") if outward else Edge(version, run, "read")
        self.edges.setdefault((edge.source, edge.target), edge)

    def _cut_size(self) -> None:
        if not self._full:
            self.cuts.append(Cut(None, "size", self.limits.nodes))
        self._full = True


def _version_node(row: Row, depth: int) -> Node:
    marks = () if row["made"] or row["external"] else ("unknown origin",)
    facts = told({"at": time_text(row["versionAt"]), "external": row["external"]})
    return Node(row["version"], "version", (row["dataNamespace"], row["dataset"], row["version"]), depth, marks, facts)


def run_node(row: Row, depth: int, now: datetime) -> Node:
    """Return the run of a row with its job, state, times and marks."""
    job = None if row["namespace"] is None else [row["namespace"], row["name"]]
    facts = {"job": job, "state": row["state"], "startedAt": time_text(row["startedAt"])}
    facts |= {"endedAt": time_text(row["endedAt"]), "at": time_text(row["endedAt"] or row["lastEventAt"])}
    return Node(row["key"], "run", (row["id"],), depth, run_words(row, now), told(facts))


def run_graph(
    reader: GraphReader, run: Node, direction: Direction, now: datetime, limits: Limits | None = None
) -> Answer:
    """Return the runs and dataset versions that a run depends on (upstream), or that depend on it (downstream).

    Raises NotFound where the graph has no such run.
    """
    rows = reader.rows("run_nodes", keys=[run.key])
    if not rows:
        raise NotFound(f"the graph has no run {run.name[0]!r}")
    walk = RunWalk(reader, direction, limits or Limits(), now)
    walk.nodes[run.key] = run_node(rows[0], 0, now)
    walk.go(run.key)
    nodes = nearest_first(walk.nodes.values())
    question = {"direction": direction, "start": list(run.name), "kind": "run", "depth": walk.limits.depth}
    return Answer(question, (run.key,), nodes, in_order(walk.edges.values(), nodes), tuple(walk.cuts))
