"""What is swept is what is walked, without a server; and where something is in the way, nothing is swept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headwater_graph.queries.answers import Direction, Node, nearest_first
from headwater_graph.queries.lineage.level_traversal import Swept, swept
from headwater_graph.queries.lineage.lineage import Walked
from headwater_graph.queries.lineage.subgraph import Subgraph
from headwater_graph.queries.lineage.traversal import Limits, Walk

from .test_traversal import DIRECTIONS, NAMES, Drawn, Job, graphs


def plain(graph: dict[str, Job]) -> dict[str, Job]:
    return {name: (inputs, outputs, {}) for name, (inputs, outputs, _) in graph.items()}


def region_of(graph: dict[str, Job], direction: Direction) -> Subgraph:
    """All of a graph, as one statement would tell it."""
    keys = dict(enumerate([*graph, *sorted({key for job in graph.values() for key in (*job[0], *job[1])})]))
    ids = {key: at for at, key in keys.items()}
    next_to: dict[int, list[int]] = {}
    for name, (inputs, outputs, _) in graph.items():
        near, far = (inputs, outputs) if direction == "downstream" else (outputs, inputs)
        next_to[ids[name]] = [ids[key] for key in far]
        for key in near:
            next_to.setdefault(ids[key], []).append(ids[name])
    return Subgraph(keys, {at: ("ns", key) for at, key in keys.items()}, next_to, whole=True)


def walked(graph: dict[str, Job], start: Node, direction: Direction, limits: Limits) -> Walked:
    walk = Walk(Drawn(graph, direction), direction, limits)
    walk.go(walk.start_at(start), 0 if start.kind == "dataset" else 1)
    return Walked(nearest_first(walk.nodes.values()), walk.edges.values(), tuple(walk.cuts))


def told(found: Swept | Walked) -> object:
    """All that an answer takes from what was found, where each job has a version of its own."""
    marked = [replace(node, facts={"version": node.name[1]} if node.kind == "job" else {}) for node in found.nodes]
    return found.nodes, found.edges(marked), found.cuts, found.writers()


@given(graphs().map(plain), DIRECTIONS, st.sampled_from([1, 2, 3, None]), st.data())
def test_what_is_swept_is_what_is_walked(
    graph: dict[str, Job], direction: Direction, depth: int | None, data: st.DataObject
) -> None:
    subgraph = region_of(graph, direction)
    for key in subgraph.keys.values():
        start = Node(key, "job" if key in graph else "dataset", ("ns", key))
        found = swept(subgraph, start, direction, Limits(depth))
        assert found
        assert told(found) == told(walked(graph, start, direction, Limits(depth)))
    limits = Limits(depth, nodes=data.draw(st.integers(1, 6)), neighbours=data.draw(st.integers(1, 4)))
    for key in subgraph.keys.values():
        start = Node(key, "job" if key in graph else "dataset", ("ns", key))
        within = swept(subgraph, start, direction, limits)
        assert within is None or told(within) == told(walked(graph, start, direction, limits))


CHAIN: dict[str, Job] = {"j1": (["a"], ["b"], {}), "j2": (["b"], ["c"], {})}
START = Node("c", "dataset", ("ns", "c"))


def test_a_chain_is_swept_and_cut_by_depth_alone() -> None:
    subgraph = region_of(CHAIN, "upstream")
    found = swept(subgraph, START, "upstream", Limits(1, neighbours=2, nodes=3))
    assert found is not None
    assert [node.key for node in found.nodes] == ["c", "b", "j2"]
    assert [(edge.source, edge.target, edge.kind) for edge in found.edges(found.nodes)] == [
        ("b", "j2", "feeds"),
        ("j2", "c", "produces"),
    ]
    assert [(cut.at, cut.why, cut.total) for cut in found.cuts] == [("b", "depth", 1)]


@given(NAMES, DIRECTIONS)
def test_a_start_that_nobody_told_of_is_not_swept(name: str, direction: Direction) -> None:
    assert swept(region_of({}, direction), Node(name, "dataset", ("ns", name)), direction, Limits()) is None


def test_what_is_in_the_way_is_left_to_the_walk() -> None:
    whole = region_of(CHAIN, "upstream")
    aliased = Subgraph(whole.keys, whole.names, whole.next_to, aliased=frozenset({"a"}), whole=True)
    listing = Subgraph(whole.keys, whole.names, whole.next_to, listed={(0, 1): frozenset({"a"})}, whole=True)
    torn = Subgraph({at: key for at, key in whole.keys.items() if key != "a"}, whole.names, whole.next_to, whole=True)
    partial = Subgraph(whole.keys, whole.names, whole.next_to, whole=False)
    for subgraph in (aliased, listing, torn, partial):
        assert swept(subgraph, START, "upstream", Limits()) is None
    for limits in (Limits(0), Limits(nodes=4), Limits(neighbours=1)):
        assert swept(whole, START, "upstream", limits) is None
    assert swept(whole, START, "upstream", Limits(nodes=5)) is not None
