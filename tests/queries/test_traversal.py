"""The walk by itself, without a server: against the plainest closure that one can write, and where paths are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_graph.queries.answers import Direction, Edge, Node
from headwater_graph.queries.lineage.component import ComponentWalk
from headwater_graph.queries.lineage.traversal import Hop, Limits, PastHop, Walk

Job = tuple[list[str], list[str], dict[str, list[str]]]
"""(inputs, outputs, per output the inputs that its job lists for it)."""


@dataclass
class Drawn:
    """A graph in memory, asked like the real one; ``asked`` counts the questions."""

    jobs_of: dict[str, Job]
    direction: Direction
    aliases_of: list[tuple[str, str]] = field(default_factory=list)
    asked: int = 0

    def jobs(self, datasets: Sequence[str], rows: int) -> list[Hop]:
        self.asked += 1
        hops = []
        for at in datasets:
            for name, (inputs, outputs, told) in sorted(self.jobs_of.items()):
                if at in (outputs if self.direction == "upstream" else inputs):
                    listed = frozenset(told[at]) if self.direction == "upstream" and at in told else None
                    hops.append(Hop(at, name, ("ns", name), inputs=listed))
        return hops[:rows]

    def datasets(self, jobs: Sequence[str], rows: int) -> list[Hop]:
        self.asked += 1
        hops = []
        for at in jobs:
            inputs, outputs, told = self.jobs_of[at]
            for key in sorted(set(inputs if self.direction == "upstream" else outputs)):
                listed = frozenset(told[key]) if self.direction == "downstream" and key in told else None
                aliased = any(key in pair for pair in self.aliases_of)
                hops.append(Hop(at, key, ("ns", key), None, listed, aliased))
        return hops[:rows]

    def aliases(self, datasets: Sequence[str], rows: int) -> list[Hop]:
        pairs = [*self.aliases_of, *((b, a) for a, b in self.aliases_of)]
        return [Hop(at, other, ("ns", other)) for at in datasets for one, other in pairs if one == at][:rows]

    def past(self, datasets: Sequence[str]) -> list[PastHop]:
        return []

    def totals(self, nodes: Sequence[str]) -> dict[str, int]:
        return {node: len(self.jobs([node], 10**9)) + (node in self.jobs_of and 0) for node in nodes}


def dataset(key: str) -> Node:
    return Node(key, "dataset", ("ns", key))


def walk(
    graph: dict[str, Job], start: str, direction: Direction, limits: Limits, aliases: list[tuple[str, str]]
) -> Walk:
    done = Walk(Drawn(graph, direction, aliases), direction, limits)
    done.go(done.start_at(dataset(start)), 0)
    return done


def distances(
    graph: dict[str, Job], start: str, direction: Direction, aliases: list[tuple[str, str]]
) -> dict[str, int]:
    """The datasets that are reached, with their distance: relaxed over all pairs until nothing changes."""
    steps = {(a, b): 0 for one, other in aliases for a, b in ((one, other), (other, one))}
    for inputs, outputs, told in graph.values():
        for target in outputs:
            for source in inputs:
                if target not in told or source in told[target]:
                    pair = (source, target) if direction == "downstream" else (target, source)
                    steps.setdefault(pair, 1)
    found = {start: 0}
    while True:
        relaxed = dict(found)
        for (near, far), cost in steps.items():
            if near in relaxed:
                relaxed[far] = min(relaxed.get(far, 10**9), relaxed[near] + cost)
        if relaxed == found:
            return found
        found = relaxed


NAMES = st.sampled_from("abcdefgh")


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Job]:
    jobs: dict[str, Job] = {}
    for number in range(draw(st.integers(0, 8))):
        inputs, outputs = draw(st.lists(NAMES, max_size=4, unique=True)), draw(st.lists(NAMES, max_size=3, unique=True))
        told = {output: [i for i in inputs if draw(st.booleans())] for output in outputs if draw(st.booleans())}
        jobs[f"job{number}"] = (inputs, outputs, told)
    return jobs


ALIASES = st.lists(st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] != pair[1]), max_size=3)
DIRECTIONS = st.sampled_from(["upstream", "downstream"])


@settings(deadline=None)
@given(graphs(), NAMES, DIRECTIONS, ALIASES)
def test_a_walk_finds_what_the_plain_closure_finds(
    graph: dict[str, Job], start: str, direction: Direction, aliases: list[tuple[str, str]]
) -> None:
    done = walk(graph, start, direction, Limits(depth=None), aliases)
    found = {key: node.depth for key, node in done.nodes.items() if node.kind == "dataset"}
    assert found == distances(graph, start, direction, aliases)
    assert not done.cuts


@settings(deadline=None)
@given(graphs(), NAMES, DIRECTIONS, ALIASES, st.integers(0, 4))
def test_a_depth_limit_cuts_exactly_what_is_farther(
    graph: dict[str, Job], start: str, direction: Direction, aliases: list[tuple[str, str]], depth: int
) -> None:
    whole = distances(graph, start, direction, aliases)
    done = walk(graph, start, direction, Limits(depth=depth), aliases)
    found = {key: node.depth for key, node in done.nodes.items() if node.kind == "dataset"}
    assert found == {key: far for key, far in whole.items() if far <= depth}
    if any(far > depth for far in whole.values()):
        assert [cut for cut in done.cuts if cut.why == "depth"]


@settings(deadline=None)
@given(graphs(), DIRECTIONS, ALIASES, st.integers(1, 6))
def test_no_limit_on_nodes_is_passed_in_silence(
    graph: dict[str, Job], direction: Direction, aliases: list[tuple[str, str]], nodes: int
) -> None:
    whole = walk(graph, "a", direction, Limits(depth=None), aliases)
    done = walk(graph, "a", direction, Limits(depth=None, nodes=nodes), aliases)
    assert len(done.nodes) <= nodes
    assert bool(done.cuts) == (len(done.nodes) < len(whole.nodes))


@settings(deadline=None)
@given(graphs(), NAMES, NAMES, ALIASES)
def test_the_two_directions_agree(graph: dict[str, Job], one: str, other: str, aliases: list[tuple[str, str]]) -> None:
    up = walk(graph, one, "upstream", Limits(depth=None), aliases)
    down = walk(graph, other, "downstream", Limits(depth=None), aliases)
    assert (other in up.nodes) == (one in down.nodes)


@settings(deadline=None)
@given(graphs(), ALIASES)
def test_the_component_is_the_same_from_every_node(graph: dict[str, Job], aliases: list[tuple[str, str]]) -> None:
    def reach(start: Node) -> tuple[frozenset[str], frozenset[tuple[str, str, str]]]:
        done = ComponentWalk(
            (Drawn(graph, "upstream", aliases), Drawn(graph, "downstream", aliases)), Limits(None, 10**6, 10**6)
        )
        done.go(start)
        return frozenset(done.nodes), frozenset(done.edges)

    nodes = {name: Node(name, "job", ("ns", name)) for name in graph}
    nodes |= {key: dataset(key) for inputs, outputs, _ in graph.values() for key in (*inputs, *outputs)}
    found = {key: reach(node) for key, node in nodes.items()}
    for members, edges in found.values():
        assert all(found[other] == (members, edges) for other in members if other in found)


def ladder(rungs: int) -> dict[str, Job]:
    """Diamonds in a row: 2^rungs paths from the first dataset to the last."""
    jobs: dict[str, Job] = {}
    for rung in range(rungs):
        for side in "lr":
            jobs[f"in{rung}{side}"] = ([f"d{rung}"], [f"m{rung}{side}"], {})
        jobs[f"out{rung}"] = ([f"m{rung}l", f"m{rung}r"], [f"d{rung + 1}"], {})
    return jobs


def test_a_ladder_of_diamonds_is_walked_once() -> None:
    drawn = Drawn(ladder(60), "downstream")
    done = Walk(drawn, "downstream", Limits(depth=None))
    done.go(done.start_at(dataset("d0")), 0)
    assert len(done.nodes) == 1 + 60 * 6
    assert done.nodes["d60"].depth == 120
    assert drawn.asked <= 2 * 120 + 2


def test_a_job_with_many_datasets_on_both_sides_is_crossed_once_for_each() -> None:
    """A thousand inputs and a thousand outputs are a million pairs, of which none needs to be looked at."""
    wide: dict[str, Job] = {"j": ([f"i{n}" for n in range(1000)], [f"o{n}" for n in range(1000)], {})}
    done = Walk(Drawn(wide, "upstream"), "upstream", Limits(depth=None))
    done.nodes |= {f"o{n}": dataset(f"o{n}") for n in range(1000)}
    done.go([f"o{n}" for n in range(1000)], 0)
    assert len(done.edges) == 2000
    assert isinstance(next(iter(done.edges.values())), Edge)


def test_no_depth_at_all_shows_a_job_alone() -> None:
    chain: dict[str, Job] = {"j1": (["a"], ["b", "c"], {}), "j2": (["b"], ["d"], {})}
    done = Walk(Drawn(chain, "downstream"), "downstream", Limits(depth=0))
    done.go(done.start_at(Node("j1", "job", ("ns", "j1"))), 1)
    assert list(done.nodes) == ["j1"]
    assert [(cut.at, cut.why, cut.shown, cut.total) for cut in done.cuts] == [("j1", "depth", 0, 2)]
