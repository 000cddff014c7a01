"""Paths between two nodes and what a change affects, in a real Neo4j."""

from __future__ import annotations

import neo4j
import pytest

from headwater_graph.queries.answers import Answer
from headwater_graph.queries.catalog.finding import find
from headwater_graph.queries.lineage.component import component
from headwater_graph.queries.lineage.impact import impact
from headwater_graph.queries.lineage.path import ANY_DEPTH, path
from headwater_graph.queries.lineage.scope import Scope, TraversalLimits
from headwater_graph.queries.reader import Neo4jReader

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(100)


def path_of(reader: Neo4jReader, maker: GraphMaker, source: str, target: str, scope: Scope = ANY_DEPTH) -> Answer:
    start, end = (find(reader, (maker.namespace, name)) for name in (source, target))
    return path(reader, start, end, NOW, scope)


def steps(answer: Answer) -> list[str]:
    return [node.name[-1] for node in answer.nodes]


def test_a_shortest_path_has_each_step(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("long1", ["a"], ["x"])
    maker.run("long2", ["x"], ["y"])
    maker.run("long3", ["y"], ["c"])
    maker.run("short1", ["a"], ["b"])
    maker.run("short2", ["b2"], ["c"])
    maker.alias("b", "b2")
    maker.store(driver)
    found = path_of(reader, maker, "a", "c")
    assert steps(found) == ["a", "short1", "b", "b2", "short2", "c"]
    nodes = found.by_key()
    assert [(nodes[e.source].name[-1], e.kind, nodes[e.target].name[-1]) for e in found.edges] == [
        ("a", "feeds", "short1"),
        ("short1", "produces", "b"),
        ("b", "alias", "b2"),
        ("b2", "feeds", "short2"),
        ("short2", "produces", "c"),
    ]
    assert steps(path_of(reader, maker, "a", "short2")) == ["a", "short1", "b", "b2", "short2"]
    assert steps(path_of(reader, maker, "short1", "c")) == ["short1", "b", "b2", "short2", "c"]
    assert steps(path_of(reader, maker, "a", "a")) == ["a"]


def test_without_a_path_the_answer_is_empty(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.run("split", ["a", "b"], ["x", "y"], inputs={"x": ["a"]})
    maker.run("on", ["x"], ["z"])
    maker.store(driver)
    assert steps(path_of(reader, maker, "b", "z")) == []
    assert not path_of(reader, maker, "b", "z").truncations
    assert steps(path_of(reader, maker, "z", "a")) == []
    short = path_of(reader, maker, "a", "z", Scope(TraversalLimits(depth=1)))
    assert steps(short) == []
    assert [truncation.why for truncation in short.truncations] == ["depth"]


def test_impact_has_jobs_datasets_and_owners_by_distance(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.run("load", ["raw"], ["orders"])
    maker.run("report", ["orders"], ["table"], state="FAIL")
    maker.dataset("table", facets='{"ownership":{"owners":[{"name":"team:bi"}]}}')
    maker.store(driver)
    answer = impact(reader, find(reader, (maker.namespace, "raw")), NOW)
    assert [(n.depth, n.kind, n.name[-1]) for n in answer.nodes] == [
        (1, "dataset", "orders"),
        (1, "job", "load"),
        (2, "dataset", "table"),
        (2, "job", "report"),
    ]
    assert answer.nodes[2].facts["owners"] == ["team:bi"]
    assert answer.nodes[3].facts["lastRunState"] == "FAIL"


def test_impact_of_a_column_leaves_out_what_reads_other_columns(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.run("sum", ["orders"], ["report"])
    maker.run("days", ["orders"], ["calendar"])
    maker.column("sum", ("orders", "amount"), ("report", "total"), type="DIRECT")
    maker.column("days", ("orders", "day"), ("calendar", "day"), type="DIRECT")
    maker.store(driver)
    answer = impact(reader, find(reader, (maker.namespace, "orders")), NOW, columns=["amount"])
    assert [(n.depth, n.kind, n.name[-1]) for n in answer.nodes] == [
        (1, "column", "total"),
        (1, "dataset", "report"),
        (1, "job", "sum"),
    ]
    assert answer.nodes[2].facts["lastRunState"] == "COMPLETE"


@pytest.mark.parametrize("start", ["raw", "load", "orders", "other", "table", "alias", "reader", "lake"])
def test_the_component_is_the_same_from_every_node_of_the_stored_graph(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker, start: str
) -> None:
    maker.run("load", ["raw"], ["orders", "lake"])
    maker.run("report", ["orders"], ["table"])
    maker.run("other", ["table"], ["orders"])
    maker.run("reader", ["alias"], [])
    maker.alias("alias", "lake")
    maker.run("elsewhere", ["apart"], ["far"])
    maker.store(driver)
    answer = component(reader, find(reader, (maker.namespace, start)), NOW)
    names = {node.name[-1] for node in answer.nodes}
    assert names == {"raw", "load", "orders", "lake", "report", "table", "other", "alias", "reader"}
    assert len(answer.edges) == 9
    assert not answer.truncations
