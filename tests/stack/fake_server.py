"""A server of the stack that starts at once: a small Python process that listens, or does what a test wants instead."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headwater_stack.home import Home
from headwater_stack.local import Stack
from headwater_stack.server import Place, is_open

LISTEN = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("INFO serving", flush=True)
while True:
    server.accept()[0].close()
"""

FAIL = """
print("INFO starting")
print("ERROR the store is locked")
print("INFO goodbye")
raise SystemExit(1)
"""

NEVER_LISTEN = """
import time
print("WARN still recovering", flush=True)
time.sleep(60)
"""

DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + LISTEN


@dataclass(frozen=True, slots=True)
class FakeServer:
    """``program`` is what the process runs; ``installs`` keeps the place of every start."""

    name: str
    program: str = LISTEN
    installs: list[Place] = field(default_factory=list)
    groups: tuple[str, ...] = ()
    port_count: int = 1
    install_seconds: float = 0.0

    @property
    def title(self) -> str:
        return f"Fake {self.name}"

    def install(self, place: Place, jars: Sequence[Path]) -> None:
        time.sleep(self.install_seconds)
        place.folder.mkdir(parents=True, exist_ok=True)
        self.installs.append(place)

    def command(self, place: Place, jars: Sequence[Path]) -> Sequence[str]:
        return [sys.executable, "-c", self.program, str(place.ports[0])]

    def answers(self, place: Place) -> bool:
        return is_open(place.ports[0])


def fake_stack(home: Path, kafka: FakeServer | None = None, neo4j: FakeServer | None = None) -> Stack:
    """Build a stack of fakes; its topics are no one's."""
    servers = (kafka or FakeServer("kafka"), neo4j or FakeServer("neo4j"))
    return Stack(Home.at(home), servers, topics=lambda _: None, start_timeout=20.0, stop_patience=10.0)
