"""Transports that send nothing: one for tests and trials, and one for when lineage is switched off."""

from __future__ import annotations

from typing import Any

from .counters import Counters


class SilentTransport:
    """The transport where ``OPENLINEAGE_DISABLED`` is ``true``: it discards events."""

    def emit(self, event: Any) -> None:
        return

    def flush(self, timeout: float = 5.0) -> bool:
        return True

    def close(self, timeout: float = -1) -> bool:
        return True

    def counters(self) -> Counters:
        return Counters()


class MemoryTransport(SilentTransport):
    """A transport that stores events as they were passed to it, in order, in ``events``."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def emit(self, event: Any) -> None:
        self.events.append(event)

    def counters(self) -> Counters:
        return Counters(emitted=len(self.events))
