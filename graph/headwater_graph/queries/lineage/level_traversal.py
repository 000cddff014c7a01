"""The walk of a region where nothing is in the way, a level at a time: the fast road of most questions.

The law. Where a region tells all neighbours within the depth, no edge lists its inputs (specification 6.6), no dataset has other
names (6.7) and no limit but the depth cuts, levels are sets, and the answer is what :class:`~.walk.Walk` would have found.
Everywhere else there is no sweep, and the walk is the law.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from headwater_graph.queries.answers import Cut, Direction, Edge, Kind, Node
from headwater_graph.queries.catalog.node_status import UNTOLD
from headwater_graph.queries.lineage.subgraph import Subgraph
from headwater_graph.queries.lineage.traversal import Limits


@dataclass(frozen=True, slots=True)
class Swept:
    """What was found: nodes in the order of answers, with the marks that the region knows, the places to which data flows from
    each, and cuts.
    """

    nodes: tuple[Node, ...]
    targets: Sequence[Sequence[int]]
    cuts: tuple[Cut, ...]

    def writers(self) -> Counter[str]:
        """Return how many jobs write each dataset now, by its key."""
        ends = [ends for node, ends in zip(self.nodes, self.targets, strict=True) if node.kind == "job"]
        return Counter({self.nodes[end].key: count for end, count in Counter(chain.from_iterable(ends)).items()})

    def edges(self, marked: Sequence[Node]) -> tuple[Edge, ...]:
        """Return the edges in the order of answers, with the versions of their jobs, from the nodes with their facts."""
        keys = [node.key for node in marked]
        versions = [{"version": node.facts.get("version")} for node in marked]
        made: list[Edge] = []
        for source, ends, version in zip(marked, self.targets, versions, strict=True):
            if source.kind == "dataset":
                made += [Edge(source.key, keys[end], "feeds", versions[end]) for end in ends]
            else:
                made += [Edge(source.key, keys[end], "produces", version) for end in ends]
        return tuple(made)


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes of one kind at one distance, by their ids in the region."""

    depth: int
    kind: Kind
    ids: set[int]


def swept(subgraph: Subgraph, start: Node, direction: Direction, limits: Limits) -> Swept | None:
    """Return all within the limits of a dataset or job; None where the walk has to find it."""
    first = next((at for at, key in subgraph.keys.items() if key == start.key), None)
    if first is None or limits.depth == 0 or not _is_plain(subgraph, limits):
        return None
    levels = list(_levels(subgraph, first, start.kind, limits.depth))
    found = {at for level in levels for at in level.ids}
    if len(found) > limits.nodes or not found <= subgraph.keys.keys():
        return None
    ordered = [(at, level) for level in levels for at in sorted(level.ids, key=subgraph.names.__getitem__)]
    nodes = tuple([_node(subgraph, at, level) for at, level in ordered])
    place = {at: number for number, (at, _) in enumerate(ordered)}
    return Swept(nodes, _targets(subgraph, place, direction), _cuts(subgraph, levels, found, limits.depth))


def _node(subgraph: Subgraph, at: int, level: Level) -> Node:
    key = subgraph.keys[at]
    marks, facts = subgraph.marks.get(key, UNTOLD)
    return Node(key, level.kind, subgraph.names[at], level.depth, marks, facts)


def _is_plain(subgraph: Subgraph, limits: Limits) -> bool:
    if not subgraph.whole or subgraph.listed or subgraph.aliased:
        return False
    return all(len(near) < limits.neighbours for near in subgraph.next_to.values())


def _levels(subgraph: Subgraph, first: int, kind: Kind, most: int | None) -> Iterator[Level]:
    """The levels in the order of answers: by distance, counted in jobs, and datasets before jobs."""
    at, seen, depth = {first}, {first}, 0
    yield Level(0, kind, at)
    if kind == "job":
        at, depth = _beyond(subgraph, at, seen), 1
        yield Level(1, "dataset", at)
    while at and depth != most:
        depth += 1
        jobs = _beyond(subgraph, at, seen)
        at = _beyond(subgraph, jobs, seen)
        yield Level(depth, "dataset", at)
        yield Level(depth, "job", jobs)


def _beyond(subgraph: Subgraph, ids: Iterable[int], seen: set[int]) -> set[int]:
    """The neighbours of some nodes that were not seen before; from now on they are."""
    fresh = {to for at in ids for to in subgraph.next_to.get(at, ())} - seen
    seen |= fresh
    return fresh


def _targets(subgraph: Subgraph, place: dict[int, int], direction: Direction) -> list[list[int]]:
    """To where data flows from each of the nodes found: their places, in order."""
    near = subgraph.next_to
    if direction == "downstream":
        return [sorted([place[to] for to in near.get(at, ()) if to in place]) for at in place]
    targets: dict[int, list[int]] = {at: [] for at in place}
    for at, number in place.items():
        for source in near.get(at, ()):
            if source in targets:
                targets[source].append(number)
    return list(targets.values())


def _cuts(subgraph: Subgraph, levels: Sequence[Level], found: set[int], most: int | None) -> tuple[Cut, ...]:
    """How many jobs are beyond each of the last datasets."""
    last = [at for level in levels if level.depth == most and level.kind == "dataset" for at in level.ids]
    beyond = [(subgraph.keys[at], sum([to not in found for to in subgraph.next_to.get(at, ())])) for at in last]
    return tuple([Cut(key, "depth", 0, count) for key, count in sorted(beyond) if count])
