"""Fixtures of the transport's tests; ``servers`` and ``topic`` come from the session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from headwater.transport import HeadwaterConfig, HeadwaterTransport

from ..servers import Servers
from .proxy import FaultyProxy


class MakeTransport(Protocol):
    def __call__(
        self, connect: Callable[[HeadwaterConfig], Any] | None = None, **settings: Any
    ) -> HeadwaterTransport: ...


@pytest.fixture
def spool_dir(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def make_transport(spool_dir: Path) -> Iterator[MakeTransport]:
    """Return a function that creates transports with a spool in the test's folder; they are closed at its end."""
    made: list[HeadwaterTransport] = []

    def make(connect: Callable[[HeadwaterConfig], Any] | None = None, **settings: Any) -> HeadwaterTransport:
        settings = {"spool_dir": str(spool_dir), "bootstrap_servers": "127.0.0.1:1"} | settings
        made.append(HeadwaterTransport(HeadwaterConfig(**settings), connect))
        return made[-1]

    yield make
    for transport in made:
        transport.close(1.0)


@pytest.fixture
def proxy(servers: Servers) -> Iterator[FaultyProxy]:
    """A proxy in front of the real broker."""
    proxy = FaultyProxy(servers.kafka_bootstrap_servers)
    yield proxy
    proxy.close()
