"""The traversal of datasets and jobs in one direction (specification 6.3, 6.6, 6.7).

Theory of operation. A level consists of datasets; a step leads from them to datasets *through* jobs. An input feeds an
output of the same job unless the edge to the output lists its inputs and this one is not among them (6.6). So a job can be
reached without leading to all of its datasets, and has to be crossed from each dataset that reaches it. To keep this linear,
edges that list no inputs are crossed the first time only; all others are looked up by the dataset. Aliases are at the same
distance as the dataset (6.7), so each level is completed with them before it is expanded. The neighbours of each dataset and
of each job are read once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater_graph.queries.answers import Direction, Edge, Node
from headwater_graph.queries.lineage.neighbours import FormerWriter, Neighbour, Neighbours
from headwater_graph.queries.lineage.traversal import Traversal

EDGE_KINDS: dict[Direction, tuple[str, str]] = {"upstream": ("produces", "feeds"), "downstream": ("feeds", "produces")}
"""The kinds of the edges that lead to a job, and onwards from it."""

VERSION_TO_COME: Mapping[str, Any] = {"version": None}
"""The facts of an edge of which the version of the job is not known yet."""


@dataclass(slots=True)
class LineageTraversal(Traversal):
    """The traversal from a dataset or job, upstream or downstream.

    It ends early once it reaches ``target``. ``reached_from`` has for each node the dataset and the job through which it was
    reached first.
    """

    neighbours: Neighbours
    direction: Direction
    former_writers: bool = False
    target: str | None = None
    reached_from: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    _far_sides: dict[str, dict[str, Neighbour]] = field(default_factory=dict)
    _crossed: set[str] = field(default_factory=set)
    _aliased: set[str] = field(default_factory=set)

    def run_from(self, node: Node) -> None:
        """Traverse from a dataset or a job."""
        self.nodes[node.key] = node
        if node.kind == "dataset":
            self.run(self._with_aliases([node.key], 0))
            return
        self._read_far_sides([node.key])
        far_side = self._far_sides[node.key]
        if self.limits.depth == 0:
            self.truncate_depth({node.key: far_side} if far_side else {})
            return
        new = [far.key for far in far_side.values() if self._cross(far, 1)]
        self.reached_from |= dict.fromkeys(new, (None, node.key))
        self.run(self._with_aliases(new, 1), 1)

    def is_finished(self) -> bool:
        return self.is_full or self.target in self.nodes

    def expand(self, frontier: list[str], depth: int) -> list[str]:
        near = self._checked(self.neighbours.jobs(frontier, self.limits.rows))
        self._read_far_sides({job.key for job in near} - self._far_sides.keys())
        new = [key for job in near for key in self._through(job, depth)]
        new += [key for writer in self._former_writers(frontier, near) for key in self._through_former(writer, depth)]
        return self._with_aliases(new, depth)

    def close(self, frontier: list[str]) -> None:
        """Add the edges among the nodes that are shown, and record how many jobs lie beyond each dataset."""
        near = self._checked(self.neighbours.jobs(frontier, self.limits.rows))
        beyond: dict[str, set[str]] = {}
        for job in near:
            if job.key in self._far_sides and all(far.key in self.nodes for far in self._fed(job)):
                list(self._through(job, self.nodes[job.key].depth))
            else:
                beyond.setdefault(job.at, set()).add(job.key)
        for writer in self._former_writers(frontier, near):
            beyond.setdefault(writer.at, set()).add(writer.job)
        self.truncate_depth(beyond)

    def _through(self, near: Neighbour, depth: int) -> Iterator[str]:
        """Cross one job from one dataset, and yield the datasets that are reached for the first time."""
        if near.key in self.nodes or self.add(Node(near.key, "job", near.name, depth)):
            self.reached_from.setdefault(near.key, (near.at, None))
            self._connect(near, 0)
            for far in self._uncrossed(near):
                if self._cross(far, depth):
                    self.reached_from[far.key] = (near.at, near.key)
                    yield far.key

    def _uncrossed(self, near: Neighbour) -> list[Neighbour]:
        """Return the edges on the far side of a job to which its near edge leads, without those crossed before."""
        far_side = self._far_sides.get(near.key, {})
        if self.direction == "upstream" and near.inputs is not None:
            return [far_side[key] for key in sorted(near.inputs) if key in far_side]
        fresh = near.key not in self._crossed
        self._crossed.add(near.key)
        return [far for far in far_side.values() if (fresh if far.inputs is None else near.at in far.inputs)]

    def _fed(self, near: Neighbour) -> list[Neighbour]:
        """Return all edges on the far side of a job to which its near edge leads (specification 6.6)."""
        far_side = self._far_sides[near.key].values()
        if self.direction == "upstream":
            return [far for far in far_side if near.inputs is None or far.key in near.inputs]
        return [far for far in far_side if far.inputs is None or near.at in far.inputs]

    def _cross(self, far: Neighbour, depth: int) -> bool:
        """Add the far edge of a job; return whether its dataset is reached for the first time."""
        new = far.key not in self.nodes
        if new and not self._add_dataset(far.key, far.name, depth, far.aliased):
            return False
        self._connect(far, 1)
        return new

    def _former_writers(self, frontier: Sequence[str], near: Sequence[Neighbour]) -> Sequence[FormerWriter]:
        """Return who wrote those datasets last that no job writes now."""
        if not self.former_writers or self.direction == "downstream":
            return ()
        orphans = sorted(set(frontier) - {job.at for job in near})
        return self.neighbours.former_writers(orphans) if orphans else ()

    def _through_former(self, writer: FormerWriter, depth: int) -> Iterator[str]:
        if not self.add(Node(writer.job, "job", writer.name, depth)):
            return
        self.connect(Edge(writer.job, writer.at, "produces", {"version": writer.version}, former=True))
        for key, name in writer.inputs:
            new = key not in self.nodes
            if new and not self._add_dataset(key, name, depth, aliased=True):
                return
            self.connect(Edge(key, writer.job, "feeds", {"version": writer.version}, former=True))
            if new:
                yield key

    def _with_aliases(self, datasets: list[str], depth: int) -> list[str]:
        """Return the datasets with all their aliases, which are at the same depth (specification 6.7)."""
        level = list(dict.fromkeys(datasets))
        waiting = [key for key in level if depth == 0 or key in self._aliased]
        while waiting:
            new = []
            for alias in self._checked(self.neighbours.aliases(waiting, self.limits.rows)):
                if alias.key not in self.nodes and self._add_dataset(alias.key, alias.name, depth, aliased=True):
                    self.reached_from[alias.key] = (alias.at, None)
                    new.append(alias.key)
                if alias.key in self.nodes and (alias.key, alias.at, "alias", False, "") not in self.edges:
                    self.connect(Edge(alias.at, alias.key, "alias"))
            level += new
            waiting = new
        return level

    def _read_far_sides(self, jobs: Iterable[str]) -> None:
        """Read all datasets on the far side of some jobs."""
        wanted = sorted(jobs)
        self._far_sides.update({job: {} for job in wanted})
        for far in self._checked(self.neighbours.datasets(wanted, self.limits.rows)) if wanted else ():
            self._far_sides[far.at][far.key] = far

    def _checked(self, neighbours: Sequence[Neighbour]) -> Sequence[Neighbour]:
        """Record where a limit on neighbours or rows has truncated an answer."""
        shown = Counter(neighbour.at for neighbour in neighbours)
        wide = sorted(at for at, count in shown.items() if count >= self.limits.neighbours)
        self.truncate_neighbours(shown, self.neighbours.totals(wide) if wide else {})
        self.truncate_rows(neighbours)
        return neighbours

    def _add_dataset(self, key: str, name: tuple[str, str], depth: int, aliased: bool) -> bool:
        added = self.add(Node(key, "dataset", name, depth))
        if added and aliased:
            self._aliased.add(key)
        return added

    def _connect(self, neighbour: Neighbour, side: int) -> None:
        """Add the edge that leads to a job (side 0) or onwards from it (1), in the direction in which data flows."""
        at, key = neighbour.at, neighbour.key
        source, target = (at, key) if self.direction == "downstream" else (key, at)
        kind = EDGE_KINDS[self.direction][side]
        if (which := (source, target, kind, False, "")) not in self.edges:
            version = neighbour.version
            facts = VERSION_TO_COME if version is None else {"version": version}
            self.edges[which] = Edge(source, target, kind, facts)
