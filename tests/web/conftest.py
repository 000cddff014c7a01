"""The application over the real graph, with a sink in memory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import neo4j
import pytest
from starlette.testclient import TestClient

from headwater_graph.queries.reader import Neo4jReader
from headwater_web import MemorySink, WebSettings, create_app

from ..queries.conftest import driver, graph_server, maker, reader
from ..queries.graph_maker import GraphMaker
from .raw import client_of, serving

__all__ = ["driver", "graph_server", "maker", "reader"]

NOW = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


@pytest.fixture
def client(reader: Neo4jReader, sink: MemorySink) -> Iterator[TestClient]:
    with client_of(create_app(reader, sink, WebSettings(), lambda: NOW)) as client:
        yield client


@pytest.fixture(scope="session")
def address(reader: Neo4jReader) -> Iterator[str]:
    """The address of the application behind a real socket, which lasts as long as the session."""
    with serving(create_app(reader, MemorySink(), WebSettings(), lambda: NOW)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def stored(maker: GraphMaker, driver: neo4j.Driver) -> GraphMaker:
    maker.run("load", ["raw"], ["orders"], hour=1)
    maker.run("report", ["orders"], ["table"], hour=2, state="FAIL", error="boom")
    maker.column("load", ("raw", "a"), ("orders", "amount"), type="DIRECT", subtype="IDENTITY")
    maker.store(driver)
    return maker
