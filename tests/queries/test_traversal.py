"""The traversal without a server: against the simplest closure, and where there are many paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_graph.queries.answers import Answer, Direction, Edge, Node
from headwater_graph.queries.lineage.component import ComponentTraversal
from headwater_graph.queries.lineage.lineage_traversal import LineageTraversal
from headwater_graph.queries.lineage.neighbours import FormerWriter, Neighbour
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.values import answer_value

Job = tuple[list[str], list[str], dict[str, list[str]]]
"""(inputs, outputs, the inputs that the job lists for an output, by output)."""


@dataclass
class MemoryNeighbours:
    """The neighbours in a graph in memory; ``questions`` counts how often they were read."""

    jobs_of: dict[str, Job]
    direction: Direction
    aliases_of: list[tuple[str, str]] = field(default_factory=list)
    questions: int = 0
    fan: int = 10**9

    def jobs(self, datasets: Sequence[str], rows: int) -> list[Neighbour]:
        self.questions += 1
        return [job for at in datasets for job in self._jobs(at)[: self.fan]][:rows]

    def _jobs(self, at: str) -> list[Neighbour]:
        found = []
        for name, (inputs, outputs, explicit) in sorted(self.jobs_of.items()):
            if at in (outputs if self.direction == "upstream" else inputs):
                listed = frozenset(explicit[at]) if self.direction == "upstream" and at in explicit else None
                found.append(Neighbour(at, name, ("ns", name), inputs=listed))
        return found

    def datasets(self, jobs: Sequence[str], rows: int) -> list[Neighbour]:
        self.questions += 1
        return [dataset for at in jobs for dataset in self._datasets(at)[: self.fan]][:rows]

    def _datasets(self, at: str) -> list[Neighbour]:
        found = []
        inputs, outputs, explicit = self.jobs_of[at]
        for key in sorted(set(inputs if self.direction == "upstream" else outputs)):
            listed = frozenset(explicit[key]) if self.direction == "downstream" and key in explicit else None
            aliased = any(key in pair for pair in self.aliases_of)
            found.append(Neighbour(at, key, ("ns", key), None, listed, aliased))
        return found

    def aliases(self, datasets: Sequence[str], rows: int) -> list[Neighbour]:
        pairs = [*self.aliases_of, *((b, a) for a, b in self.aliases_of)]
        return [Neighbour(at, other, ("ns", other)) for at in datasets for name, other in pairs if name == at][:rows]

    def former_writers(self, datasets: Sequence[str]) -> list[FormerWriter]:
        return []

    def totals(self, nodes: Sequence[str]) -> dict[str, int]:
        return {node: len(self._datasets(node) if node in self.jobs_of else self._jobs(node)) for node in nodes}


def dataset(key: str) -> Node:
    return Node(key, "dataset", ("ns", key))


def traversed(
    graph: dict[str, Job],
    start: Node,
    direction: Direction,
    limits: TraversalLimits,
    aliases: Sequence[tuple[str, str]] = (),
) -> LineageTraversal:
    traversal = LineageTraversal(limits, MemoryNeighbours(graph, direction, list(aliases)), direction)
    traversal.run_from(start)
    return traversal


def distances(
    graph: dict[str, Job], start: str, direction: Direction, aliases: list[tuple[str, str]]
) -> dict[str, int]:
    """The datasets that are reached, with their distance: relaxed over all pairs until nothing changes."""
    steps = {(a, b): 0 for pair in aliases for a, b in (pair, pair[::-1])}
    for inputs, outputs, explicit in graph.values():
        for target in outputs:
            for source in inputs:
                if target not in explicit or source in explicit[target]:
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
        explicit = {output: [i for i in inputs if draw(st.booleans())] for output in outputs if draw(st.booleans())}
        jobs[f"job{number}"] = (inputs, outputs, explicit)
    return jobs


ALIASES = st.lists(st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] != pair[1]), max_size=3)
DIRECTIONS = st.sampled_from(["upstream", "downstream"])


@settings(deadline=None)
@given(graphs(), NAMES, DIRECTIONS, ALIASES)
def test_a_traversal_finds_what_the_simple_closure_finds(
    graph: dict[str, Job], start: str, direction: Direction, aliases: list[tuple[str, str]]
) -> None:
    done = traversed(graph, dataset(start), direction, TraversalLimits(depth=None), aliases)
    found = {key: node.depth for key, node in done.nodes.items() if node.kind == "dataset"}
    assert found == distances(graph, start, direction, aliases)
    assert not done.truncations


@settings(deadline=None)
@given(graphs(), NAMES, DIRECTIONS, ALIASES, st.integers(0, 4))
def test_a_depth_limit_truncates_exactly_what_is_farther(
    graph: dict[str, Job], start: str, direction: Direction, aliases: list[tuple[str, str]], depth: int
) -> None:
    whole = distances(graph, start, direction, aliases)
    done = traversed(graph, dataset(start), direction, TraversalLimits(depth=depth), aliases)
    found = {key: node.depth for key, node in done.nodes.items() if node.kind == "dataset"}
    assert found == {key: far for key, far in whole.items() if far <= depth}
    if any(far > depth for far in whole.values()):
        assert [truncation for truncation in done.truncations if truncation.why == "depth"]


@settings(deadline=None)
@given(graphs(), DIRECTIONS, ALIASES, st.integers(1, 6))
def test_a_limit_on_nodes_is_always_recorded(
    graph: dict[str, Job], direction: Direction, aliases: list[tuple[str, str]], nodes: int
) -> None:
    whole = traversed(graph, dataset("a"), direction, TraversalLimits(depth=None), aliases)
    done = traversed(graph, dataset("a"), direction, TraversalLimits(depth=None, nodes=nodes), aliases)
    assert len(done.nodes) <= nodes
    assert bool(done.truncations) == (len(done.nodes) < len(whole.nodes))


@settings(deadline=None)
@given(graphs(), NAMES, NAMES, ALIASES)
def test_the_two_directions_agree(
    graph: dict[str, Job], start: str, other: str, aliases: list[tuple[str, str]]
) -> None:
    up = traversed(graph, dataset(start), "upstream", TraversalLimits(depth=None), aliases)
    down = traversed(graph, dataset(other), "downstream", TraversalLimits(depth=None), aliases)
    assert (other in up.nodes) == (start in down.nodes)


@settings(deadline=None)
@given(graphs(), ALIASES)
def test_the_component_is_the_same_from_every_node(graph: dict[str, Job], aliases: list[tuple[str, str]]) -> None:
    def reach(start: Node) -> tuple[frozenset[str], frozenset[tuple[str, str, str]]]:
        both = (MemoryNeighbours(graph, "upstream", aliases), MemoryNeighbours(graph, "downstream", aliases))
        done = ComponentTraversal(TraversalLimits(None, 10**6, 10**6), both)
        done.add(start)
        done.run([start.key])
        return frozenset(done.nodes), frozenset(edge[:3] for edge in done.edges)

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


def test_a_ladder_of_diamonds_is_traversed_once() -> None:
    neighbours = MemoryNeighbours(ladder(60), "downstream")
    done = LineageTraversal(TraversalLimits(depth=None), neighbours, "downstream")
    done.run_from(dataset("d0"))
    assert len(done.nodes) == 1 + 60 * 6
    assert done.nodes["d60"].depth == 120
    assert neighbours.questions <= 2 * 120 + 2


def test_a_job_with_many_datasets_on_both_sides_is_crossed_once_for_each() -> None:
    """A thousand inputs and a thousand outputs are a million pairs, none of which needs to be examined."""
    wide: dict[str, Job] = {"j": ([f"i{n}" for n in range(1000)], [f"o{n}" for n in range(1000)], {})}
    done = LineageTraversal(TraversalLimits(depth=None), MemoryNeighbours(wide, "upstream"), "upstream")
    done.nodes |= {f"o{n}": dataset(f"o{n}") for n in range(1000)}
    done.run([f"o{n}" for n in range(1000)])
    assert len(done.edges) == 2000
    assert isinstance(next(iter(done.edges.values())), Edge)


def test_a_depth_of_zero_shows_a_job_alone() -> None:
    chain: dict[str, Job] = {"j1": (["a"], ["b", "c"], {}), "j2": (["b"], ["d"], {})}
    done = traversed(chain, Node("j1", "job", ("ns", "j1")), "downstream", TraversalLimits(depth=0))
    assert list(done.nodes) == ["j1"]
    found = [(truncation.at, truncation.why, truncation.shown, truncation.total) for truncation in done.truncations]
    assert found == [("j1", "depth", 0, 2)]


def test_truncations_name_only_nodes_that_are_shown() -> None:
    """The limit on nodes leaves out the second job, whose outputs exceed the limit on neighbours."""
    jobs: dict[str, Job] = {"j1": (["a"], ["b"], {}), "j2": (["a"], ["c", "d", "e"], {})}
    limits = TraversalLimits(None, neighbours=2, nodes=2)
    done = LineageTraversal(limits, MemoryNeighbours(jobs, "downstream", fan=2), "downstream")
    done.run_from(dataset("a"))
    assert {truncation.why for truncation in done.truncations} == {"size"}
    assert {truncation.at for truncation in done.truncations} <= {*done.nodes, None}
    nodes = tuple(done.nodes.values())
    assert answer_value(Answer({}, ("a",), nodes, (), done.truncations))["complete"] is False
