"""A transport that keeps its events: for tests, and for a look at what a program tells."""

from __future__ import annotations

from typing import Any

from headwater.transport.counters import Counters


class MemoryTransport:
    """Keeps events as they were handed over, in order, in ``events``; there is nothing to deliver, so nothing is lost."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def emit(self, event: Any) -> None:
        self.events.append(event)

    def flush(self, timeout: float = 5.0) -> bool:
        return True

    def close(self, timeout: float = -1) -> bool:
        return True

    def counters(self) -> Counters:
        return Counters(emitted=len(self.events))
