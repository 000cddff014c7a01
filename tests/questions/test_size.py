"""Graphs in which careless questions stall: 2^60 paths, a dataset with 100,000 readers."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import neo4j
import pytest

from headwater_graph.questions.finding import find
from headwater_graph.questions.keys import dataset_key
from headwater_graph.questions.lineage import Scope, lineage
from headwater_graph.questions.reader import Neo4jReader
from headwater_graph.questions.walk import Limits

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(10_000)
READERS = 100_000
AT_ONCE = 5.0
"""Seconds, on a machine that does ten other things: a walk path by path would take longer than the universe is old."""


def test_a_ladder_of_sixty_diamonds_answers_at_once(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    for rung in range(60):
        for side in "lr":
            maker.run(f"in{rung}{side}", [f"d{rung}"], [f"m{rung}{side}"])
        maker.run(f"out{rung}", [f"m{rung}l", f"m{rung}r"], [f"d{rung + 1}"])
    maker.store(driver)
    began = perf_counter()
    answer = lineage(reader, find(reader, (maker.namespace, "d60")), "upstream", NOW, Scope(Limits(depth=None)))
    assert perf_counter() - began < AT_ONCE
    assert len(answer.nodes) == 1 + 60 * 6
    assert answer.nodes[-1].depth == 120
    assert not answer.cuts


@pytest.fixture
def hub(driver: neo4j.Driver, maker: GraphMaker) -> Iterator[str]:
    """A dataset with 100,000 readers, gone after the test."""
    maker.dataset("hub")
    maker.store(driver)
    with driver.session() as session:
        session.run(
            "MATCH (d:Dataset {key: $key}) UNWIND range(1, $readers) AS n "
            "CREATE (d)-[:FEEDS {version: 'v'}]->(:Job {key: $key + n, namespace: $key, name: 'reader' + n, facets: '{}'})",
            key=dataset_key(maker.namespace, "hub"),
            readers=READERS,
        ).consume()
    yield maker.namespace
    with driver.session() as session:
        session.run(
            "MATCH (d:Dataset {key: $key})-[:FEEDS]->(j) CALL (j) { DETACH DELETE j } IN TRANSACTIONS OF 20000 ROWS",
            key=dataset_key(maker.namespace, "hub"),
        ).consume()


def test_a_hub_is_cut_with_its_count(reader: Neo4jReader, hub: str) -> None:
    start = find(reader, (hub, "hub"))
    lineage(reader, start, "downstream", NOW)
    began = perf_counter()
    answer = lineage(reader, start, "downstream", NOW)
    assert perf_counter() - began < AT_ONCE
    assert [(cut.why, cut.shown, cut.total) for cut in answer.cuts] == [("neighbours", 1_000, READERS)]
    assert len(answer.nodes) == 1_001
