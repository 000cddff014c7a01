"""The port to a transport, and an implementation that stores events in memory."""

from __future__ import annotations

import importlib
from typing import Any, Protocol, cast


class EventSink(Protocol):
    """A transport as this package uses it; ``headwater.transport.default_transport`` returns the real one."""

    def emit(self, event: Any) -> Any:
        """Accept an event (a dictionary in OpenLineage's form) without waiting for its delivery."""

    def flush(self, timeout: float) -> bool:
        """Wait at most ``timeout`` seconds for delivery; return whether all events are delivered."""

    def close(self, timeout: float) -> bool:
        """Deliver within ``timeout`` seconds and spool the rest to disk; a later ``emit`` opens the transport again."""


class CollectingSink:
    """A sink that stores events in memory, for tests of operators: ``sink.events`` in the order of emission."""

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []

    def emit(self, event: Any) -> None:
        self._events.append(event)

    def flush(self, timeout: float = 0.0) -> bool:
        return True

    def close(self, timeout: float = 0.0) -> bool:
        return True

    @property
    def events(self) -> list[dict[str, Any]]:
        return list(self._events)

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a type (``START``, ``COMPLETE``, …)."""
        return [event for event in self.events if event.get("eventType") == kind]


def default_sink() -> EventSink:
    """Return the transport that the environment configures (``HEADWATER_KAFKA_BOOTSTRAP_SERVERS`` and others)."""
    return cast(EventSink, importlib.import_module("headwater.transport").default_transport())
