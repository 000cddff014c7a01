"""The graph, empty, and a consumer's room on the test servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater_graph.store.neo4j_store import Neo4jStore

from ..servers import Servers
from ..store.empty import emptied, opened
from .consuming import Room


@pytest.fixture
def graph(servers: Servers) -> Iterator[Neo4jStore]:
    with opened(servers) as store:
        yield emptied(store)


@pytest.fixture
def room(servers: Servers, topic: str, tmp_path: Path) -> Room:
    return Room(servers, topic, tmp_path)
