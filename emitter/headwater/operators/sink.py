"""Where events leave: the narrow port of this package, and a fake that keeps them."""

from __future__ import annotations

import importlib
import threading
from typing import Any, Protocol, cast


class EventSink(Protocol):
    """A transport as this package sees it; `headwater.transport.default_transport` gives the real one."""

    def emit(self, event: Any) -> Any:
        """Take an event (a dictionary, as OpenLineage has it) without waiting for its delivery."""

    def flush(self, timeout: float) -> bool:
        """Wait at most so many seconds until everything taken is delivered; whether it is."""

    def close(self, timeout: float) -> bool:
        """Deliver what can be in so many seconds, put the rest to disk; a later `emit` begins anew."""


class CollectingSink:
    """Keeps the events in memory, for tests of operators: ``sink.events`` in the order of their emission."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: list[dict[str, Any]] = []

    def emit(self, event: Any) -> None:
        with self._lock:
            self._events.append(event)

    def flush(self, timeout: float = 0.0) -> bool:
        return True

    def close(self, timeout: float = 0.0) -> bool:
        return True

    @property
    def events(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._events)

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The events of one type (``START``, ``COMPLETE``, …)."""
        return [event for event in self.events if event.get("eventType") == kind]


def default_sink() -> EventSink:
    """The transport that the environment sets up (``HEADWATER_KAFKA_BOOTSTRAP_SERVERS`` and its fellows)."""
    return cast(EventSink, importlib.import_module("headwater.transport").default_transport())
