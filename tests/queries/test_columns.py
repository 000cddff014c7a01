"""Lineage of columns in a real Neo4j."""

from __future__ import annotations

import neo4j
import pytest

from headwater_graph.queries.answers import Answer, Direction
from headwater_graph.queries.catalog.finding import NotFound, find
from headwater_graph.queries.lineage.columns import column_lineage
from headwater_graph.queries.lineage.scope import TraversalLimits
from headwater_graph.queries.reader import Neo4jReader

from .graph_maker import GraphMaker


def columns_of(
    reader: Neo4jReader,
    maker: GraphMaker,
    dataset: str,
    *columns: str,
    direction: Direction = "upstream",
    **limits: int,
) -> Answer:
    start = find(reader, (maker.namespace, dataset))
    return column_lineage(reader, start, direction, columns, TraversalLimits(**limits))


def names(answer: Answer) -> set[tuple[int, str]]:
    return {(node.depth, ".".join(node.name[1:])) for node in answer.nodes}


def edges(answer: Answer) -> set[tuple[str, str, str]]:
    nodes = answer.by_key()
    return {(".".join(nodes[e.source].name[1:]), e.kind, ".".join(nodes[e.target].name[1:])) for e in answer.edges}


def test_a_column_is_followed_from_field_to_field(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.column("load", ("raw", "a"), ("orders", "amount"), type="DIRECT", subtype="IDENTITY")
    maker.column("sum", ("orders", "amount"), ("report", "total"), type="DIRECT", subtype="AGGREGATION", masking=True)
    maker.column("sum", ("orders", "day"), ("report", "day"))
    maker.store(driver)
    answer = columns_of(reader, maker, "report", "total")
    assert names(answer) == {(0, "report.total"), (1, "orders.amount"), (2, "raw.a")}
    facts = next(e.facts for e in answer.edges if e.target == answer.start[0])
    assert facts == {"job": [maker.namespace, "sum"], "type": "DIRECT", "subtype": "AGGREGATION", "masking": True}
    assert names(columns_of(reader, maker, "raw", "a", direction="downstream")) == {
        (0, "raw.a"), (1, "orders.amount"), (2, "report.total")
    }  # fmt: skip
    assert names(columns_of(reader, maker, "report")) == {
        (0, "report.day"), (0, "report.total"), (1, "orders.amount"), (1, "orders.day"), (2, "raw.a")
    }  # fmt: skip


def test_what_influences_all_columns_influences_each(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.column("filter", ("orders", "day"), ("recent", "*"), type="INDIRECT", subtype="FILTER")
    maker.column("filter", ("orders", "amount"), ("recent", "amount"), type="DIRECT")
    maker.column("sum", ("recent", "amount"), ("report", "total"), type="DIRECT")
    maker.store(driver)
    up = columns_of(reader, maker, "report", "total")
    assert names(up) == {
        (0, "report.total"), (1, "recent.amount"), (1, "recent.*"), (2, "orders.day"), (2, "orders.amount")
    }  # fmt: skip
    assert ("recent.*", "covers", "recent.amount") in edges(up)
    down = columns_of(reader, maker, "orders", "day", direction="downstream")
    assert names(down) == {(0, "orders.day"), (1, "recent.*"), (1, "recent.amount"), (2, "report.total")}
    assert ("recent.*", "covers", "recent.amount") in edges(down)


def test_columns_are_followed_through_aliases_of_their_dataset(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.column("load", ("raw", "a"), ("s3://orders", "amount"))
    maker.column("sum", ("db.orders", "amount"), ("report", "total"))
    maker.alias("db.orders", "s3://orders")
    maker.store(driver)
    answer = columns_of(reader, maker, "report", "total", depth=2)
    assert names(answer) == {(0, "report.total"), (1, "db.orders.amount"), (1, "s3://orders.amount"), (2, "raw.a")}
    assert ("db.orders.amount", "alias", "s3://orders.amount") in edges(answer)


def test_truncations_name_the_limit(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    for number in range(5):
        maker.column("wide", (f"in{number}", "c"), ("wide", "c"))
    maker.column("deep", ("wide", "c"), ("deep", "c"))
    maker.store(driver)
    truncations = columns_of(reader, maker, "deep", depth=1).truncations
    assert [(c.why, c.shown, c.total) for c in truncations] == [("depth", 0, 5)]
    truncations = columns_of(reader, maker, "deep", neighbours=2).truncations
    assert [(c.why, c.shown, c.total) for c in truncations] == [("neighbours", 2, 5)]
    truncations = columns_of(reader, maker, "deep", nodes=3).truncations
    assert [(c.why, c.shown) for c in truncations] == [("size", 3)]


def test_a_column_cycle_ends(reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker) -> None:
    maker.column("count", ("t", "n"), ("t", "n"))
    maker.column("count", ("u", "n"), ("t", "n"))
    maker.column("back", ("t", "n"), ("u", "n"))
    maker.store(driver)
    assert names(columns_of(reader, maker, "t", "n", depth=50)) == {(0, "t.n"), (1, "u.n")}


def test_a_column_without_lineage_is_named_with_those_that_have_some(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.column("load", ("raw", "a"), ("orders", "amount"))
    maker.store(driver)
    with pytest.raises(NotFound, match=r"has no column lineage of price; columns with lineage: amount"):
        columns_of(reader, maker, "orders", "price")
