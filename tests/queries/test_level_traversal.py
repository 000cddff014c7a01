"""The fast traversal of a subgraph and the full one agree, without a server; and the fast one refuses what it cannot do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headwater_graph.queries.answers import Direction, Node, nearest_first
from headwater_graph.queries.lineage.level_traversal import LevelsFound, traverse_levels
from headwater_graph.queries.lineage.lineage import TraversalFound
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.lineage.subgraph import Subgraph

from .test_traversal import DIRECTIONS, NAMES, Job, graphs, traversed


def plain(graph: dict[str, Job]) -> dict[str, Job]:
    return {name: (inputs, outputs, {}) for name, (inputs, outputs, _) in graph.items()}


def subgraph_of(graph: dict[str, Job], direction: Direction) -> Subgraph:
    """All of a graph, as one statement returns it."""
    keys = dict(enumerate([*graph, *sorted({key for job in graph.values() for key in (*job[0], *job[1])})]))
    ids = {key: at for at, key in keys.items()}
    neighbours: dict[int, list[int]] = {}
    for name, (inputs, outputs, _) in graph.items():
        near, far = (inputs, outputs) if direction == "downstream" else (outputs, inputs)
        neighbours[ids[name]] = [ids[key] for key in far]
        for key in near:
            neighbours.setdefault(ids[key], []).append(ids[name])
    return Subgraph(keys, {at: ("ns", key) for at, key in keys.items()}, neighbours, whole=True)


def full(graph: dict[str, Job], start: Node, direction: Direction, limits: TraversalLimits) -> TraversalFound:
    traversal = traversed(graph, start, direction, limits)
    return TraversalFound(nearest_first(traversal.nodes.values()), traversal.edges.values(), traversal.truncations)


def parts(found: LevelsFound | TraversalFound) -> object:
    """All that an answer takes from what was found, where each job has a version of its own."""
    nodes = [replace(node, facts={"version": node.name[1]} if node.kind == "job" else {}) for node in found.nodes]
    return found.nodes, found.edges(nodes), found.truncations, found.writers()


@given(graphs().map(plain), DIRECTIONS, st.sampled_from([1, 2, 3, None]), st.data())
def test_both_traversals_find_the_same(
    graph: dict[str, Job], direction: Direction, depth: int | None, data: st.DataObject
) -> None:
    subgraph = subgraph_of(graph, direction)
    for key in subgraph.keys.values():
        start = Node(key, "job" if key in graph else "dataset", ("ns", key))
        found = traverse_levels(subgraph, start, direction, TraversalLimits(depth))
        assert found
        assert parts(found) == parts(full(graph, start, direction, TraversalLimits(depth)))
    limits = TraversalLimits(depth, nodes=data.draw(st.integers(1, 6)), neighbours=data.draw(st.integers(1, 4)))
    for key in subgraph.keys.values():
        start = Node(key, "job" if key in graph else "dataset", ("ns", key))
        within = traverse_levels(subgraph, start, direction, limits)
        assert within is None or parts(within) == parts(full(graph, start, direction, limits))


CHAIN: dict[str, Job] = {"j1": (["a"], ["b"], {}), "j2": (["b"], ["c"], {})}
START = Node("c", "dataset", ("ns", "c"))


def test_only_the_depth_limit_truncates_a_chain() -> None:
    subgraph = subgraph_of(CHAIN, "upstream")
    found = traverse_levels(subgraph, START, "upstream", TraversalLimits(1, neighbours=2, nodes=3))
    assert found is not None
    assert [node.key for node in found.nodes] == ["c", "b", "j2"]
    assert [(edge.source, edge.target, edge.kind) for edge in found.edges(found.nodes)] == [
        ("b", "j2", "feeds"),
        ("j2", "c", "produces"),
    ]
    assert [(limit.at, limit.why, limit.total) for limit in found.truncations] == [("b", "depth", 1)]


@given(NAMES, DIRECTIONS)
def test_a_start_outside_the_subgraph_is_refused(name: str, direction: Direction) -> None:
    assert (
        traverse_levels(subgraph_of({}, direction), Node(name, "dataset", ("ns", name)), direction, TraversalLimits())
        is None
    )


def test_what_needs_more_than_the_depth_limit_is_left_to_the_full_traversal() -> None:
    whole = subgraph_of(CHAIN, "upstream")
    aliased = Subgraph(whole.keys, whole.names, whole.neighbours, aliased=frozenset({"a"}), whole=True)
    listing = Subgraph(whole.keys, whole.names, whole.neighbours, listed={(0, 1): frozenset({"a"})}, whole=True)
    torn = Subgraph(
        {at: key for at, key in whole.keys.items() if key != "a"}, whole.names, whole.neighbours, whole=True
    )
    partial = Subgraph(whole.keys, whole.names, whole.neighbours, whole=False)
    for subgraph in (aliased, listing, torn, partial):
        assert traverse_levels(subgraph, START, "upstream", TraversalLimits()) is None
    for limits in (TraversalLimits(0), TraversalLimits(nodes=4), TraversalLimits(neighbours=1)):
        assert traverse_levels(whole, START, "upstream", limits) is None
    assert traverse_levels(whole, START, "upstream", TraversalLimits(nodes=5)) is not None
