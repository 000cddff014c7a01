"""The queue between the job and the emitter's thread: bounded, and never waits.

``SimpleQueue.put`` is one reentrant C call, so that `offer` may be called by any thread, a signal handler that
interrupted another `offer`, or a destructor. Events are handed over by reference: from then on they are frozen.
"""

from __future__ import annotations

import itertools
import threading
from queue import Empty, SimpleQueue
from typing import Any

FEW = 32
"""So many events may be queued unweighed: as long as the thread keeps up, weighing is never paid for."""
WEIGHED = 8
"""Of the others one in so many is weighed, and stands for those after it."""

NOTHING = object()


class Intake:
    """At most ``max_events`` events, of about ``max_bytes`` by estimate (give or take one per thread)."""

    def __init__(self, max_events: int, max_bytes: int) -> None:
        self._items: SimpleQueue[tuple[Any, int]] = SimpleQueue()
        self._max_events = max_events
        self._max_bytes = max_bytes
        # Reentrant: a signal handler may interrupt the very frame that holds it.
        self._lock = threading.RLock()
        self._weight = 0
        self._turns = itertools.count()
        self._last_weight = 0

    def offer(self, event: Any) -> bool:
        """Take the event if there is room; microseconds, whatever the state of the thread behind."""
        queued = self._items.qsize()
        if queued >= self._max_events:
            return False
        weight = self._weight_of(event) if queued >= FEW else 0
        if weight and not self._reserve(weight):
            return False
        self._items.put((event, weight))
        return True

    def _weight_of(self, event: Any) -> int:
        # Events in a rush are alike; weighing each would cost more than all the rest of `offer`.
        if next(self._turns) % WEIGHED == 0:
            self._last_weight = weigh(event)
        return self._last_weight

    def _reserve(self, weight: int) -> bool:
        with self._lock:
            if self._weight + weight > self._max_bytes:
                return False
            self._weight += weight
            return True

    def put(self, item: Any) -> None:
        """Add a control item, which is never refused."""
        self._items.put((item, 0))

    def take(self, seconds: float) -> Any:
        """The next item, or NOTHING if none came within ``seconds`` (0: at once)."""
        try:
            item, weight = self._items.get(block=seconds > 0, timeout=seconds or None)
        except Empty:
            return NOTHING
        if weight:
            with self._lock:
                self._weight -= weight
        return item

    def __len__(self) -> int:
        return self._items.qsize()


def weigh(value: Any, depth: int = 8) -> int:
    """About how many bytes a value takes as JSON; of a list its first item is weighed, so that it costs little."""
    if isinstance(value, str):
        return len(value) + 3
    if depth and isinstance(value, dict):
        return 2 + sum(len(str(key)) + 4 + weigh(item, depth - 1) for key, item in _some(value)) * _times(value)
    if depth and isinstance(value, list | tuple):
        return 2 + (weigh(value[0], depth - 1) + 1) * len(value) if value else 2
    names = getattr(type(value), "__attrs_attrs__", None)
    if depth and names is not None:
        return 2 + sum(len(a.name) + 4 + weigh(getattr(value, a.name), depth - 1) for a in names)
    return 8


def _some(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
    # Facets differ from each other, columns don't: of a large mapping one member stands for the rest.
    pairs = iter(value.items())
    return list(pairs) if len(value) <= FEW else [next(pairs)]


def _times(value: dict[Any, Any]) -> int:
    return 1 if len(value) <= FEW else len(value)
