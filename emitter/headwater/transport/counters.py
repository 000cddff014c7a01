"""Counters of events: safe in every thread, in a forked child and in a signal handler.

``n += 1`` loses counts between threads, and a lock can be held by the very frame that a signal handler interrupts.
``next`` of an ``itertools.count`` is one call in C, which nothing interrupts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias

DropReason: TypeAlias = Literal[
    "queue_full",
    "not_serialisable",
    "spool_full",
    "spool_failed",
    "spool_oldest",
    "torn",
    "transport_error",
    "fault",
]
"""Why an event was lost:

``queue_full`` the queue's limit was reached; ``not_serialisable`` the event can't be written as JSON; ``spool_full`` it is
larger than the spool may be, or other processes hold the spool; ``spool_failed`` the disk refused it; ``spool_oldest`` it
was removed to make room for a newer one; ``torn`` its record on disk was damaged; ``transport_error`` another transport of
openlineage-python raised; ``fault`` the emitter has a fault (logged with its stack trace).
"""


class AtomicCounter:
    """A number that only grows."""

    __slots__ = ("_reads", "_ticks")

    def __init__(self) -> None:
        self._ticks = itertools.count()
        self._reads = 0

    def increment(self, n: int = 1) -> None:
        for _ in range(n):
            next(self._ticks)

    def read(self) -> int:
        # Reading advances the count too, and is subtracted again.
        value = next(self._ticks) - self._reads
        self._reads += 1
        return value


@dataclass(frozen=True, slots=True)
class Counters:
    """Numbers of events so far; ``dropped`` by reason (see ``DropReason``), with the reasons that occurred.

    ``emitted``: passed to ``emit``. ``delivered``: acknowledged by Kafka (or accepted by another transport). ``spooled``:
    written to disk. ``replayed``: read from disk and acknowledged. ``throttled``: RUNNING events without news.
    ``cut``: events made smaller. ``redacted``: texts in which a secret was replaced.
    """

    emitted: int = 0
    delivered: int = 0
    spooled: int = 0
    replayed: int = 0
    throttled: int = 0
    cut: int = 0
    redacted: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: Counters) -> Counters:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        reasons = sorted(self.dropped.keys() | other.dropped.keys())
        return Counters(**sums, dropped={r: self.dropped.get(r, 0) + other.dropped.get(r, 0) for r in reasons})

    def lost(self) -> int:
        """Return how many events are lost for good."""
        return sum(self.dropped.values())


_NUMBERS = tuple(field.name for field in fields(Counters) if field.name != "dropped")


class TransportCounters:
    """The counters of one transport in one process."""

    def __init__(self) -> None:
        self.emitted = AtomicCounter()
        self.delivered = AtomicCounter()
        self.spooled = AtomicCounter()
        self.replayed = AtomicCounter()
        self.throttled = AtomicCounter()
        self.cut = AtomicCounter()
        self.redacted = AtomicCounter()
        self._dropped: dict[str, AtomicCounter] = {}

    def add_dropped(self, reason: DropReason, n: int = 1) -> None:
        self._dropped.setdefault(reason, AtomicCounter()).increment(n)

    def snapshot(self) -> Counters:
        dropped = {reason: counter.read() for reason, counter in sorted(self._dropped.items())}
        return Counters(**{name: getattr(self, name).read() for name in _NUMBERS}, dropped=dropped)
