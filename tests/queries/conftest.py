"""A reader and a maker over the real Neo4j of the session; every test has a namespace of its own in the one database."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import neo4j
import pytest
from pydantic import SecretStr

from headwater_graph.queries.reader import Neo4jReader
from headwater_graph.settings import GraphSettings, graph_settings

from ..servers import Servers
from .graph_maker import GraphMaker
from .schema import apply_schema


@pytest.fixture(scope="session")
def graph_server(servers: Servers) -> GraphSettings:
    password = SecretStr(servers.neo4j_password)
    return graph_settings(uri=servers.neo4j_uri, user=servers.neo4j_user, password=password)


@pytest.fixture(scope="session")
def driver(servers: Servers) -> Iterator[neo4j.Driver]:
    account = (servers.neo4j_user, servers.neo4j_password)
    with neo4j.GraphDatabase.driver(servers.neo4j_uri, auth=account, notifications_min_severity="OFF") as driver:
        apply_schema(driver)
        yield driver


@pytest.fixture(scope="session")
def reader(graph_server: GraphSettings, driver: neo4j.Driver) -> Iterator[Neo4jReader]:
    with Neo4jReader(graph_server) as reader:
        yield reader


@pytest.fixture
def maker() -> GraphMaker:
    return GraphMaker(f"ns-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def stored(maker: GraphMaker, driver: neo4j.Driver) -> GraphMaker:
    """Two jobs; the last run of the second one has failed, and reads a dataset more than the run before."""
    maker.run("load", ["raw"], ["orders"], hour=1)
    maker.run("report", ["orders"], ["table"], hour=2)
    maker.run("report", ["orders", "rates"], ["table"], hour=3, state="FAIL", error="boom")
    maker.column("load", ("raw", "a"), ("orders", "amount"), type="DIRECT", subtype="IDENTITY")
    maker.store(driver)
    return maker
