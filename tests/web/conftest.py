"""The application over the real graph, with an outlet in memory."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import neo4j
import pytest
import uvicorn
from starlette.testclient import TestClient

from headwater_graph.queries.reader import Neo4jReader
from headwater_web import MemoryOutlet, WebSettings, create_app

from ..queries.conftest import driver, graph_server, maker, reader
from ..queries.graph_maker import GraphMaker

__all__ = ["driver", "graph_server", "maker", "reader"]

NOW = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def outlet() -> MemoryOutlet:
    return MemoryOutlet()


@pytest.fixture
def client(reader: Neo4jReader, outlet: MemoryOutlet) -> Iterator[TestClient]:
    with TestClient(create_app(reader, outlet, WebSettings(), lambda: NOW)) as client:
        yield client


@pytest.fixture(scope="session")
def address(reader: Neo4jReader) -> Iterator[str]:
    """The address of the application behind a real socket, which lasts as long as the session."""
    app = create_app(reader, MemoryOutlet(), WebSettings(), lambda: NOW)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture
def stored(maker: GraphMaker, driver: neo4j.Driver) -> GraphMaker:
    maker.run("load", ["raw"], ["orders"], hour=1)
    maker.run("report", ["orders"], ["table"], hour=2, state="FAIL", error="boom")
    maker.column("load", ("raw", "a"), ("orders", "amount"), type="DIRECT", subtype="IDENTITY")
    maker.store(driver)
    return maker
