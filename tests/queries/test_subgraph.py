"""An answer from a subgraph is the answer of the traversal level by level, in a real Neo4j."""

from __future__ import annotations

import itertools
import uuid

import neo4j
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater_avro.errors import ServerUnavailable
from headwater_graph.queries.answers import Answer, Direction, Node
from headwater_graph.queries.keys import dataset_node_key, job_node_key
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader, Neo4jReader, Row, question_text
from headwater_graph.queries.values import answer_value
from headwater_graph.settings import graph_settings

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(1_000)
NAMES = st.sampled_from("abcdefgh")
# A code version may have any character; a node with one that JSON escapes has no summary.
CODES = st.sampled_from([None, "c1", 'c"2\\', "c\n3"])
FACETS = st.sampled_from(
    [
        "{}",
        '{"ownership":{"owners":[{"name":"team:sales"},{"name":"\\u00e9quipe \\"B\\""}]}}',
        '{"ownership":{"owners":[{"name":"a\\u001fb"}]}}',
        '{"jobType":{"processingType":"SERVICE"}}',
        '{"jobType":{"processingType":"BATCH"},"x":{"y":"STREAMING"}}',
    ]
)
DEPTHS = (0, 1, 2, None)
DIRECTIONS: tuple[Direction, Direction] = ("upstream", "downstream")


class LevelByLevel:
    """A reader that finds no subgraph."""

    def __init__(self, reader: GraphReader) -> None:
        self.reader = reader

    def rows(self, question: str, /, **parameters: object) -> list[Row]:
        return [] if question == "lineage/subgraph" else self.reader.rows(question, **parameters)


@st.composite
def made(draw: st.DrawFn) -> GraphMaker:
    """Some jobs over eight datasets: cycles, several writers, aliases, explicit inputs, versions that are no longer current."""
    maker = GraphMaker(f"ns-{uuid.uuid4().hex[:12]}", summaries=draw(st.booleans()))
    since = draw(st.sampled_from([0.0, -17_000_000.1, 60_000_000.9]))
    for number in range(draw(st.integers(1, 9))):
        reads, writes = draw(st.lists(NAMES, max_size=4, unique=True)), draw(st.lists(NAMES, max_size=3, unique=True))
        inputs = {name: [each for each in reads if draw(st.booleans())] for name in writes if draw(st.booleans())}
        job = draw(st.sampled_from(["j0", "j1", "j2", "j3", "j4", "j5"]))
        streaming, unknown = draw(st.sampled_from([None, None, True])), draw(st.booleans())
        hour = since + number + draw(st.sampled_from([0.0, 0.123456789]))
        maker.run(job, reads, writes, hour=hour, inputs=inputs, streaming=streaming, unknown=unknown, code=draw(CODES))
    maker.job("j1", facets=draw(FACETS))
    maker.dataset("a", facets=draw(FACETS), dropped=draw(st.sampled_from([None, True])))
    for name, other in draw(st.lists(st.tuples(NAMES, NAMES), max_size=2)):
        if name < other:
            maker.alias(name, other)
    if draw(st.booleans()):
        maker.open_run("j0", f"{maker.namespace}-open", hour=1)
    return maker


def starts(maker: GraphMaker) -> list[Node]:
    of = {"Dataset": dataset_node_key, "Job": job_node_key}
    named = [(label, node["name"]) for (label, _), node in maker.nodes.items() if label in of]
    return [
        Node(of[label](maker.namespace, name), "dataset" if label == "Dataset" else "job", (maker.namespace, name))
        for label, name in named
    ]


@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
@given(maker=made())
def test_a_subgraph_and_single_levels_give_the_same_answer(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.store(driver)
    for start, direction, depth in itertools.product(starts(maker)[:6], DIRECTIONS, DEPTHS):
        from_subgraph, by_level = (
            lineage_of(each, start, direction, TraversalLimits(depth)) for each in (reader, LevelByLevel(reader))
        )
        assert answer_value(from_subgraph) == answer_value(by_level)


@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(maker=made(), nodes=st.integers(1, 8), neighbours=st.integers(1, 3))
def test_a_traversal_continues_beyond_a_small_subgraph(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker, nodes: int, neighbours: int
) -> None:
    maker.store(driver)
    for start, direction in itertools.product(starts(maker)[:6], DIRECTIONS):
        whole = lineage_of(LevelByLevel(reader), start, direction, TraversalLimits(None))
        few = lineage_of(reader, start, direction, TraversalLimits(None, nodes=nodes))
        assert len(few.nodes) == min(nodes, len(whole.nodes))
        assert bool(few.truncations) == (len(few.nodes) < len(whole.nodes))
        narrow = lineage_of(reader, start, direction, TraversalLimits(None, neighbours))
        assert narrow.truncations or answer_value(narrow)["nodes"] == answer_value(whole)["nodes"]


def lineage_of(reader: GraphReader, start: Node, direction: Direction, limits: TraversalLimits) -> Answer:
    return lineage(reader, start, direction, NOW, Scope(limits))


def test_a_traversal_needs_one_statement(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    for level in range(6):
        for side in "lr":
            maker.run(f"j{level}{side}", [f"t{level}l", f"t{level}r"], [f"t{level + 1}{side}"])
    maker.store(driver)
    questions: list[str] = []

    class Recording(LevelByLevel):
        def rows(self, question: str, /, **parameters: object) -> list[Row]:
            questions.append(question)
            return self.reader.rows(question, **parameters)

    start = Node(dataset_node_key(maker.namespace, "t6l"), "dataset", (maker.namespace, "t6l"))
    answer = lineage_of(Recording(reader), start, "upstream", TraversalLimits(5))
    assert len(answer.nodes) == 1 + 9 + 10
    assert [(cut.why, cut.total) for cut in answer.truncations] == [("depth", 1), ("depth", 1)]
    assert questions == ["lineage/subgraph"]


def test_an_unreachable_server_is_an_error() -> None:
    with (
        Neo4jReader(graph_settings(uri="bolt://127.0.0.1:1")) as away,
        pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:1"),
    ):
        lineage_of(away, Node("key", "dataset", ("ns", "name")), "upstream", TraversalLimits())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_database_visits_no_node_twice(driver: neo4j.Driver, direction: Direction) -> None:
    """The plan: only a pruning breadth-first expansion is the same for one path and for 2^60."""
    for hops in (None, 3, 21):
        with driver.session(default_access_mode="READ") as session:
            names = ("key", "nodes", "rows", "before", "silent")
            text = question_text("lineage/subgraph", direction, hops)
            plan = session.run(f"EXPLAIN {text}", dict.fromkeys(names)).consume().plan
            assert "VarLengthExpand(Pruning,BFS" in str(plan)
