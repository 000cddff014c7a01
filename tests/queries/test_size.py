"""Graphs in which careless questions never end: 2^60 paths, a dataset with 100,000 readers."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest

from headwater_graph.queries.catalog.finding import find
from headwater_graph.queries.keys import dataset_node_key
from headwater_graph.queries.lineage.lineage import lineage
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import GraphReader, Neo4jReader, Row

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(10_000)
READERS = 100_000


class Counting:
    """A reader that counts questions and rows: the cost of an answer, independent of the machine."""

    def __init__(self, reader: GraphReader) -> None:
        self.reader = reader
        self.questions = self.found = 0

    def rows(self, question: str, /, **parameters: object) -> list[Row]:
        rows = self.reader.rows(question, **parameters)
        self.questions += 1
        self.found += sum(map(_size, rows))
        return rows


def _size(row: Row) -> int:
    """Count each row, and each row in a list in it."""
    return 1 + sum(len(value) for value in row.values() if isinstance(value, list))


def test_the_cost_of_a_ladder_of_sixty_diamonds_is_linear(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    for rung in range(60):
        for side in "lr":
            maker.run(f"in{rung}{side}", [f"d{rung}"], [f"m{rung}{side}"])
        maker.run(f"out{rung}", [f"m{rung}l", f"m{rung}r"], [f"d{rung + 1}"])
    maker.store(driver)
    counting = Counting(reader)
    answer = lineage(
        counting, find(reader, (maker.namespace, "d60")), "upstream", NOW, Scope(TraversalLimits(depth=None))
    )
    assert counting.questions < 2 * 120 + 10
    assert counting.found < 5_000
    assert len(answer.nodes) == 1 + 60 * 6
    assert answer.nodes[-1].depth == 120
    assert not answer.truncations


@pytest.fixture
def hub(driver: neo4j.Driver, maker: GraphMaker) -> Iterator[str]:
    """A dataset with 100,000 readers, deleted after the test."""
    maker.dataset("hub")
    maker.store(driver)
    with driver.session() as session:
        session.run(
            "MATCH (d:Dataset {key: $key}) UNWIND range(1, $readers) AS n "
            "CREATE (d)-[:FEEDS {version: 'v'}]->(:Job {key: $key + n, namespace: $key, name: 'reader' + n, facets: '{}'})",
            key=dataset_node_key(maker.namespace, "hub"),
            readers=READERS,
        ).consume()
    yield maker.namespace
    with driver.session() as session:
        session.run(
            "MATCH (d:Dataset {key: $key})-[:FEEDS]->(j) CALL (j) { DETACH DELETE j } IN TRANSACTIONS OF 20000 ROWS",
            key=dataset_node_key(maker.namespace, "hub"),
        ).consume()


def test_a_hub_is_truncated_with_its_count(reader: Neo4jReader, hub: str) -> None:
    counting = Counting(reader)
    answer = lineage(counting, find(reader, (hub, "hub")), "downstream", NOW)
    assert counting.questions < 15
    assert counting.found < READERS / 5
    assert [(limit.why, limit.shown, limit.total) for limit in answer.truncations] == [("neighbours", 1_000, READERS)]
    assert len(answer.nodes) == 1_001
