"""The breadth-first walk over datasets and jobs (specification 6.3, 6.6, 6.7).

The law. One goes level by level from datasets to datasets *through* jobs. An input feeds an output of the same job unless
the edge to the output lists its inputs and this one is not among them (6.6). Other names of a dataset are at the same
distance as it is (6.7). Each dataset and each job is asked for once, so no number of paths and no cycle costs anything;
what a limit leaves out is told as a cut. Nothing here knows Neo4j: the graph is asked through :class:`Steps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from headwater_graph.queries.answers import Cut, Direction, Edge, Node

KINDS: dict[Direction, tuple[str, str]] = {"upstream": ("produces", "feeds"), "downstream": ("feeds", "produces")}
"""The kinds of the edges by which a walk comes to a job, and goes on from it."""


class Hop(Struct, frozen=True, gc=False):
    """One current edge seen from the node ``at`` to its neighbour; ``inputs`` are the keys that specification 6.6 lists, or None.

    ``version`` is None where the job's version is told later.
    """

    at: str
    key: str
    name: tuple[str, str]
    version: str | None = None
    inputs: frozenset[str] | None = None
    aliased: bool = False


VERSION_TO_COME: Mapping[str, Any] = {"version": None}
"""The facts of an edge whose hop tells no version."""


class PastHop(NamedTuple):
    """The job version that wrote the dataset ``at`` last though no job does so now, and what that version read."""

    at: str
    job: str
    name: tuple[str, str]
    version: str | None
    inputs: tuple[tuple[str, tuple[str, str]], ...]


class Steps(Protocol):
    """The neighbours of many nodes at once, in one direction; each answer holds at most ``rows`` hops."""

    def jobs(self, datasets: Sequence[str], rows: int) -> Sequence[Hop]: ...
    def datasets(self, jobs: Sequence[str], rows: int) -> Sequence[Hop]: ...
    def aliases(self, datasets: Sequence[str], rows: int) -> Sequence[Hop]: ...
    def past(self, datasets: Sequence[str]) -> Sequence[PastHop]: ...
    def totals(self, nodes: Sequence[str]) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a walk goes: ``depth`` in jobs (None: no limit), neighbours of one node, and nodes in all."""

    depth: int | None = 10
    neighbours: int = 1_000
    nodes: int = 5_000

    @property
    def rows(self) -> int:
        """The most hops that one question of the walk may answer with."""
        return self.nodes * 4


@dataclass(slots=True)
class Walk:
    """A walk under way: what it has seen, and what it has left out; read ``nodes``, ``edges`` and ``cuts`` afterwards.

    It ends early once it meets ``target``. ``came`` tells of each node from which dataset and through which job it was
    met first.
    """

    steps: Steps
    direction: Direction
    limits: Limits
    past: bool = False
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str, str, bool], Edge] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)
    target: str | None = None
    came: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    _far: dict[str, dict[str, Hop]] = field(default_factory=dict)
    _crossed: set[str] = field(default_factory=set)
    _aliased: set[str] = field(default_factory=set)
    _full: bool = False

    def start_at(self, node: Node) -> list[str]:
        """Begin at a dataset or a job, and return the datasets of the first level."""
        self.nodes[node.key] = node
        if node.kind == "dataset":
            return self._with_aliases([node.key], 0)
        self._open([node.key])
        far = self._far[node.key]
        if self.limits.depth == 0:
            self.cuts += [Cut(node.key, "depth", 0, len(far))] if far else []
            return []
        met = [hop.key for hop in far.values() if self._cross(hop, 1)]
        self.came |= dict.fromkeys(met, (None, node.key))
        return self._with_aliases(met, 1)

    def go(self, frontier: list[str], depth: int) -> None:
        """Walk on from the datasets of one level until nothing new is met or a limit says stop."""
        while frontier and not self._full and self.target not in self.nodes:
            if depth == self.limits.depth:
                self._close(frontier)
                return
            depth += 1
            near = self._checked(self.steps.jobs(frontier, self.limits.rows))
            self._open({hop.key for hop in near} - self._far.keys())
            met = [far for hop in near for far in self._through(hop, depth)]
            met += self._through_past(frontier, near, depth)
            frontier = self._with_aliases(met, depth)

    def _through(self, near: Hop, depth: int) -> Iterator[str]:
        """Cross one job from one dataset, and yield the datasets that are met for the first time."""
        if self._job(near.key, near.name, depth):
            self.came.setdefault(near.key, (near.at, None))
            self._connect(near.at, near, 0)
            for far in self._reached(near):
                if self._cross(far, depth):
                    self.came[far.key] = (near.at, near.key)
                    yield far.key

    def _reached(self, near: Hop) -> list[Hop]:
        """The far edges of a job to which its near edge leads (specification 6.6), those aside that were crossed before."""
        far_side = self._far.get(near.key, {})
        if self.direction == "upstream" and near.inputs is not None:
            return [far_side[key] for key in sorted(near.inputs) if key in far_side]
        fresh = near.key not in self._crossed
        self._crossed.add(near.key)
        return [far for far in far_side.values() if (fresh if far.inputs is None else near.at in far.inputs)]

    def _cross(self, far: Hop, depth: int) -> bool:
        """Add the far edge of a job; tell whether its dataset is met for the first time."""
        new = far.key not in self.nodes
        if new and not self._dataset(far.key, far.name, depth, far.aliased):
            return False
        self._connect(far.at, far, 1)
        return new

    def _through_past(self, frontier: Sequence[str], near: Sequence[Hop], depth: int) -> list[str]:
        return [key for hop in self._past(frontier, near) for key in self._past_job(hop, depth)]

    def _past(self, frontier: Sequence[str], near: Sequence[Hop]) -> Sequence[PastHop]:
        """Who wrote those datasets last that nobody writes now."""
        orphans = sorted(set(frontier) - {hop.at for hop in near})
        return self.steps.past(orphans) if orphans and self.past and self.direction == "upstream" else ()

    def _past_job(self, hop: PastHop, depth: int) -> Iterator[str]:
        if not self._job(hop.job, hop.name, depth):
            return
        self._add(Edge(hop.job, hop.at, "produces", {"version": hop.version}, past=True))
        for key, name in hop.inputs:
            new = key not in self.nodes
            if new and not self._dataset(key, name, depth, aliased=True):
                return
            self._add(Edge(key, hop.job, "feeds", {"version": hop.version}, past=True))
            if new:
                yield key

    def _with_aliases(self, datasets: list[str], depth: int) -> list[str]:
        """Return the datasets with all their other names, which are at the same depth (specification 6.7)."""
        level = list(dict.fromkeys(datasets))
        asked = [key for key in level if depth == 0 or key in self._aliased]
        while asked:
            met = []
            for hop in self._checked(self.steps.aliases(asked, self.limits.rows)):
                if hop.key not in self.nodes and self._dataset(hop.key, hop.name, depth, aliased=True):
                    self.came[hop.key] = (hop.at, None)
                    met.append(hop.key)
                if hop.key in self.nodes and (hop.key, hop.at, "alias", False) not in self.edges:
                    self._add(Edge(hop.at, hop.key, "alias"))
            level += met
            asked = met
        return level

    def _open(self, jobs: Iterable[str]) -> None:
        """Ask once for all datasets on the far side of some jobs."""
        asked = sorted(jobs)
        if not asked:
            return
        self._far.update({job: {} for job in asked})
        for hop in self._checked(self.steps.datasets(asked, self.limits.rows)):
            self._far[hop.at][hop.key] = hop

    def _close(self, frontier: Sequence[str]) -> None:
        """At the depth limit: add the edges among what is shown, and tell how much each dataset has beyond."""
        near = self._checked(self.steps.jobs(frontier, self.limits.rows))
        beyond: dict[str, set[str]] = {}
        for hop in near:
            if hop.key in self._far and all(far.key in self.nodes for far in self._pairs(hop)):
                list(self._through(hop, self.nodes[hop.key].depth))
            else:
                beyond.setdefault(hop.at, set()).add(hop.key)
        for past in self._past(frontier, near):
            beyond.setdefault(past.at, set()).add(past.job)
        self.cuts += [Cut(at, "depth", 0, len(jobs)) for at, jobs in sorted(beyond.items())]

    def _pairs(self, near: Hop) -> list[Hop]:
        far_side = self._far[near.key].values()
        if self.direction == "upstream":
            return [far for far in far_side if near.inputs is None or far.key in near.inputs]
        return [far for far in far_side if far.inputs is None or near.at in far.inputs]

    def _checked(self, hops: Sequence[Hop]) -> Sequence[Hop]:
        """Note where a limit on neighbours or rows has cut an answer."""
        counts: dict[str, int] = {}
        for hop in hops:
            counts[hop.at] = counts.get(hop.at, 0) + 1
        wide = sorted(at for at, count in counts.items() if count >= self.limits.neighbours)
        totals = self.steps.totals(wide) if wide else {}
        self.cuts += [Cut(at, "neighbours", counts[at], totals[at]) for at in wide if totals[at] > counts[at]]
        if len(hops) >= self.limits.rows:
            self._cut_size()
        return hops

    def _job(self, key: str, name: tuple[str, str], depth: int) -> bool:
        if key in self.nodes:
            return True
        if self._room():
            self.nodes[key] = Node(key, "job", name, depth)
            return True
        return False

    def _dataset(self, key: str, name: tuple[str, str], depth: int, aliased: bool) -> bool:
        if self._room():
            self.nodes[key] = Node(key, "dataset", name, depth)
            if aliased:
                self._aliased.add(key)
            return True
        return False

    def _room(self) -> bool:
        if len(self.nodes) < self.limits.nodes:
            return True
        self._cut_size()
        return False

    def _cut_size(self) -> None:
        if not self._full:
            self.cuts.append(Cut(None, "size", self.limits.nodes))
        self._full = True

    def _connect(self, at: str, hop: Hop, side: int) -> None:
        """Add the edge of a hop to a job (side 0) or from it (1), turned so that it runs as data flows."""
        source, target = (at, hop.key) if self.direction == "downstream" else (hop.key, at)
        kind = KINDS[self.direction][side]
        if (which := (source, target, kind, False)) not in self.edges:
            facts = VERSION_TO_COME if hop.version is None else {"version": hop.version}
            self.edges[which] = Edge(source, target, kind, facts)

    def _add(self, edge: Edge) -> None:
        self.edges.setdefault((edge.source, edge.target, edge.kind, edge.past), edge)
