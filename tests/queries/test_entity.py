"""One dataset or job by itself, in a real Neo4j."""

from __future__ import annotations

import neo4j

from headwater_graph.queries.catalog.entity import Entity, entity
from headwater_graph.queries.catalog.finding import Wanted, find
from headwater_graph.queries.reader import Neo4jReader

from .graph_maker import GraphMaker, at_hour

NOW = at_hour(100)


def shown(reader: Neo4jReader, maker: GraphMaker, kind: Wanted, name: str) -> Entity:
    return entity(reader, find(reader, (maker.namespace, name), (kind,)), NOW)


def sides(found: Entity) -> tuple[list[str], list[str], list[str]]:
    up, down, aliases = ([node.name[-1] for node in side] for side in (found.upstream, found.downstream, found.aliases))
    return up, down, aliases


def test_a_job_shows_what_it_names_and_a_dataset_who_uses_it_by_any_name(
    reader: Neo4jReader, driver: neo4j.Driver, maker: GraphMaker
) -> None:
    maker.run("load", ["raw"], ["s3://orders"])
    maker.run("report", ["db.orders", "rates"], ["table"])
    maker.alias("db.orders", "s3://orders")
    maker.store(driver)
    assert sides(shown(reader, maker, "job", "report")) == (["db.orders", "rates"], ["table"], [])
    assert sides(shown(reader, maker, "job", "load")) == (["raw"], ["s3://orders"], [])
    assert sides(shown(reader, maker, "dataset", "db.orders")) == (["load"], ["report"], ["s3://orders"])
