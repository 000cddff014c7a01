"""The fast traversal of a subgraph in which only the depth limit applies.

Theory of operation. The rules of a traversal are those of ``LineageTraversal``. Where a subgraph has all neighbours within
the depth, no edge lists its inputs (specification 6.6), no dataset has aliases (6.7) and no limit but the depth truncates,
none of these rules decides anything: a level is then the set of the neighbours of the level before, without the nodes
reached earlier, and the edges of the answer are those of the subgraph between the nodes found. This is the case for most
questions, and sets of ids are traversed in less than half of the time. ``traverse_levels`` returns None in all other cases.
``tests/queries/test_level_traversal.py`` holds that both give the same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from headwater_graph.queries.answers import Direction, Edge, Kind, Node, Truncation
from headwater_graph.queries.catalog.node_status import UNKNOWN_STATUS
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.lineage.subgraph import Subgraph


@dataclass(frozen=True, slots=True)
class LevelsFound:
    """Nodes in the order of answers with the status that the subgraph has, for each the positions to which data flows
    from it, and truncations; as ``TraversalFound``.
    """

    nodes: tuple[Node, ...]
    targets: Sequence[Sequence[int]]
    truncations: tuple[Truncation, ...]

    def writers(self) -> Counter[str]:
        """Return how many jobs write each dataset now, by its key."""
        ends = [ends for node, ends in zip(self.nodes, self.targets, strict=True) if node.kind == "job"]
        return Counter({self.nodes[end].key: count for end, count in Counter(chain.from_iterable(ends)).items()})

    def edges(self, nodes: Sequence[Node]) -> tuple[Edge, ...]:
        """Return the edges in the order of answers, with the versions of their jobs from ``nodes``, which have their facts."""
        keys = [node.key for node in nodes]
        versions = [{"version": node.facts.get("version")} for node in nodes]
        edges: list[Edge] = []
        for source, ends, version in zip(nodes, self.targets, versions, strict=True):
            if source.kind == "dataset":
                edges += [Edge(source.key, keys[end], "feeds", versions[end]) for end in ends]
            else:
                edges += [Edge(source.key, keys[end], "produces", version) for end in ends]
        return tuple(edges)


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes of one kind at one distance, by their ids in the subgraph."""

    depth: int
    kind: Kind
    ids: set[int]


def traverse_levels(
    subgraph: Subgraph, start: Node, direction: Direction, limits: TraversalLimits
) -> LevelsFound | None:
    """Return all within the limits of a dataset or job; None where ``LineageTraversal`` has to find it."""
    first = next((at for at, key in subgraph.keys.items() if key == start.key), None)
    if first is None or limits.depth == 0 or not _only_depth_applies(subgraph, limits):
        return None
    levels = list(_levels(subgraph, first, start.kind, limits.depth))
    found = {at for level in levels for at in level.ids}
    if len(found) > limits.nodes or not found <= subgraph.keys.keys():
        return None
    ordered = [(at, level) for level in levels for at in sorted(level.ids, key=subgraph.names.__getitem__)]
    nodes = tuple([_node(subgraph, at, level) for at, level in ordered])
    positions = {at: number for number, (at, _) in enumerate(ordered)}
    targets = _targets(subgraph, positions, direction)
    return LevelsFound(nodes, targets, _truncations(subgraph, levels, found, limits.depth))


def _node(subgraph: Subgraph, at: int, level: Level) -> Node:
    key = subgraph.keys[at]
    status, facts = subgraph.status.get(key, UNKNOWN_STATUS)
    return Node(key, level.kind, subgraph.names[at], level.depth, status, facts)


def _only_depth_applies(subgraph: Subgraph, limits: TraversalLimits) -> bool:
    if not subgraph.whole or subgraph.listed or subgraph.aliased:
        return False
    return all(len(ids) < limits.neighbours for ids in subgraph.neighbours.values())


def _levels(subgraph: Subgraph, first: int, kind: Kind, most: int | None) -> Iterator[Level]:
    """Yield the levels in the order of answers: by distance, counted in jobs, and datasets before jobs."""
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
    """Return the neighbours of some nodes that were not seen before, and add them to ``seen``."""
    fresh = {to for at in ids for to in subgraph.neighbours.get(at, ())} - seen
    seen |= fresh
    return fresh


def _targets(subgraph: Subgraph, positions: dict[int, int], direction: Direction) -> list[list[int]]:
    """Return the positions to which data flows from each of the nodes found, in order."""
    neighbours = subgraph.neighbours
    if direction == "downstream":
        return [sorted([positions[to] for to in neighbours.get(at, ()) if to in positions]) for at in positions]
    targets: dict[int, list[int]] = {at: [] for at in positions}
    for at, number in positions.items():
        for source in neighbours.get(at, ()):
            if source in targets:
                targets[source].append(number)
    return list(targets.values())


def _truncations(
    subgraph: Subgraph, levels: Sequence[Level], found: set[int], most: int | None
) -> tuple[Truncation, ...]:
    """Return how many jobs are beyond each of the last datasets."""
    last = [at for level in levels if level.depth == most and level.kind == "dataset" for at in level.ids]
    beyond = [(subgraph.keys[at], sum([to not in found for to in subgraph.neighbours.get(at, ())])) for at in last]
    return tuple([Truncation(key, "depth", 0, count) for key, count in sorted(beyond) if count])
