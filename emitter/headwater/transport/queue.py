"""The queue between the job and the emitter's thread: bounded, and never waits.

``SimpleQueue.put`` is one reentrant C call, so ``offer`` may be called by any thread, by a signal handler that
interrupts another ``offer``, and by a destructor. Events are passed by reference and must not change afterwards.
"""

from __future__ import annotations

import itertools
import threading
from queue import Empty, SimpleQueue
from typing import Any

UNMEASURED_EVENTS = 32
"""How many events may be queued without an estimate of their size: while the thread keeps up, estimates cost nothing."""
SAMPLING_INTERVAL = 8
"""Beyond that, the size of one event in so many is estimated and used for those after it."""

EMPTY = object()


class EventQueue:
    """At most ``max_events`` events of about ``max_bytes`` together, estimated (give or take an event per thread)."""

    def __init__(self, max_events: int, max_bytes: int) -> None:
        self._items: SimpleQueue[tuple[Any, int]] = SimpleQueue()
        self._max_events = max_events
        self._max_bytes = max_bytes
        # Reentrant: a signal handler may interrupt the very frame that holds it.
        self._lock = threading.RLock()
        self._reserved_bytes = 0
        self._offers = itertools.count()
        self._last_size = 0

    def offer(self, event: Any) -> bool:
        """Add the event and return True, or return False if there is no room; takes microseconds."""
        queued = self._items.qsize()
        if queued >= self._max_events:
            return False
        size = self._size_of(event) if queued >= UNMEASURED_EVENTS else 0
        if size and not self._reserve(size):
            return False
        self._items.put((event, size))
        return True

    def _size_of(self, event: Any) -> int:
        # Events in quick succession are alike; estimating each would cost more than the rest of ``offer``.
        if next(self._offers) % SAMPLING_INTERVAL == 0:
            self._last_size = estimate_size(event)
        return self._last_size

    def _reserve(self, size: int) -> bool:
        with self._lock:
            if self._reserved_bytes + size > self._max_bytes:
                return False
            self._reserved_bytes += size
            return True

    def add_control(self, item: Any) -> None:
        """Add a control item, which is never refused."""
        self._items.put((item, 0))

    def take(self, seconds: float) -> Any:
        """Return the next item, or ``EMPTY`` if none comes within ``seconds`` (0: without waiting)."""
        try:
            item, size = self._items.get(block=seconds > 0, timeout=seconds or None)
        except Empty:
            return EMPTY
        if size:
            with self._lock:
                self._reserved_bytes -= size
        return item

    def __len__(self) -> int:
        return self._items.qsize()


def estimate_size(value: Any, depth: int = 8) -> int:
    """Return about how many bytes a value takes as JSON; of a list only the first item is measured."""
    if isinstance(value, str):
        return len(value) + 3
    if depth and isinstance(value, dict):
        # Facets differ from each other, columns don't: a large mapping is estimated from one member.
        factor = 1 if len(value) <= UNMEASURED_EVENTS else len(value)
        members = itertools.islice(value.items(), 1 if factor > 1 else None)
        return 2 + sum(len(str(key)) + 4 + estimate_size(item, depth - 1) for key, item in list(members)) * factor
    if depth and isinstance(value, list | tuple):
        return 2 + (estimate_size(value[0], depth - 1) + 1) * len(value) if value else 2
    names = getattr(type(value), "__attrs_attrs__", None)
    if depth and names is not None:
        return 2 + sum(len(a.name) + 4 + estimate_size(getattr(value, a.name), depth - 1) for a in names)
    return 8
