"""Run-level lineage (specification 5): what a run read and what made that, back to the sources, or who read what it wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater_graph.queries.answers import Answer, Direction, Edge, Node, nearest_first
from headwater_graph.queries.lineage.lineage import in_order
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.lineage.traversal import Traversal
from headwater_graph.queries.reader import GraphReader, Row
from headwater_graph.queries.runs.runs import run_status, the_row
from headwater_graph.queries.values import present, time_text


@dataclass(slots=True)
class RunTraversal(Traversal):
    """The traversal from run to run, through the dataset versions between them."""

    reader: GraphReader
    direction: Direction
    now: datetime

    def expand(self, frontier: list[str], depth: int) -> list[str]:
        return [key for row in self._neighbours(frontier) for key in self._reach(row, depth)]

    def close(self, frontier: list[str]) -> None:
        beyond: dict[str, list[Row]] = {}
        for row in self._neighbours(frontier):
            beyond.setdefault(row["at"], []).append(row)
        self.truncate_depth(beyond)

    def _neighbours(self, runs: Sequence[str]) -> list[Row]:
        """Return the versions next to some runs, each with the runs on its other side."""
        limits = {"fan": self.limits.neighbours, "rows": self.limits.rows}
        rows = self.reader.rows("runs/level", direction=self.direction, keys=list(runs), **limits)
        versions = Counter(at for at, _ in {(row["at"], row["version"]) for row in rows})
        self._truncate(versions, {row["at"]: row["versions"] for row in rows})
        readers = Counter(row["version"] for row in rows)
        self._truncate(readers, {row["version"]: row["runs"] for row in rows})
        self.truncate_rows(rows)
        return rows

    def _truncate(self, shown: Counter[str], totals: dict[str, int]) -> None:
        self.truncate_neighbours(shown, {at: n for at, n in totals.items() if shown[at] >= self.limits.neighbours})

    def _reach(self, row: Row, depth: int) -> list[str]:
        """Add the version and the run of a row; return the key of the run if it is reached for the first time."""
        if not self.add(_version_node(row, depth)):
            return []
        self._connect(row["at"], row["version"], is_written=self.direction == "downstream")
        if row["key"] is None:
            return []
        new = row["key"] not in self.nodes
        if not self.add(run_node(row, depth, self.now)):
            return []
        self._connect(row["key"], row["version"], is_written=self.direction == "upstream")
        return [row["key"]] if new else []

    def _connect(self, run: str, version: str, is_written: bool) -> None:
        self.connect(Edge(run, version, "wrote") if is_written else Edge(version, run, "read"))


def _version_node(row: Row, depth: int) -> Node:
    status = () if row["made"] or row["external"] else ("unknown origin",)
    facts = present({"at": time_text(row["versionAt"]), "external": row["external"]})
    return Node(row["version"], "version", (row["dataNamespace"], row["dataset"], row["version"]), depth, status, facts)


def run_node(row: Row, depth: int, now: datetime) -> Node:
    """Return the run of a row with its job, state, times and status."""
    job = None if row["namespace"] is None else [row["namespace"], row["name"]]
    facts = {"job": job, "state": row["state"], "startedAt": time_text(row["startedAt"])}
    facts |= {"endedAt": time_text(row["endedAt"]), "at": time_text(row["endedAt"] or row["lastEventAt"])}
    return Node(row["key"], "run", (row["id"],), depth, run_status(row, now), present(facts))


def run_graph(
    reader: GraphReader, run: Node, direction: Direction, now: datetime, limits: TraversalLimits | None = None
) -> Answer:
    """Return the runs and dataset versions that a run depends on (upstream), or that depend on it (downstream).

    Raises NotFound where the graph has no such run.
    """
    row = the_row(run, reader.rows("runs/nodes", keys=[run.key]))
    traversal = RunTraversal(limits or TraversalLimits(), reader, direction, now)
    traversal.add(run_node(row, 0, now))
    traversal.run([run.key])
    nodes = nearest_first(traversal.nodes.values())
    question = {"direction": direction, "start": list(run.name), "kind": "run", "depth": traversal.limits.depth}
    edges = in_order(traversal.edges.values(), nodes)
    return Answer(question, (run.key,), nodes, edges, traversal.truncations)
