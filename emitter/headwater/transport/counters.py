"""Counts of what became of the events: safe from every thread, a forked child and a signal handler.

A plain ``n += 1`` loses counts between threads, and a lock can be held by the very frame that a signal handler
interrupted. ``next`` of an ``itertools.count`` is one call in C: nothing can come between.
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
"""Why an event was given up:

``queue_full`` the queue's bound was reached; ``not_serialisable`` it can't be written as JSON; ``spool_full`` it is
larger than the spool may be, or the spool is held by others; ``spool_failed`` the disk refused it; ``spool_oldest`` it
made room on disk for a newer one; ``torn`` its record on disk was damaged; ``transport_error`` another transport of
openlineage-python raised; ``fault`` the emitter has a fault (which is logged with its stack).
"""


class Tally:
    """One number that only grows."""

    __slots__ = ("_reads", "_ticks")

    def __init__(self) -> None:
        self._ticks = itertools.count()
        self._reads = 0

    def tick(self) -> None:
        next(self._ticks)

    def add(self, n: int) -> None:
        for _ in range(n):
            next(self._ticks)

    def read(self) -> int:
        # Reading costs a tick too; it is taken off again.
        seen = next(self._ticks) - self._reads
        self._reads += 1
        return seen


@dataclass(frozen=True, slots=True)
class Counters:
    """What became of the events so far; ``dropped`` by reason (see `DropReason`), only reasons that occurred.

    ``emitted``: handed to `emit`. ``delivered``: acknowledged by Kafka (or taken by another transport). ``spooled``:
    written to disk. ``replayed``: read from disk and acknowledged. ``throttled``: RUNNING events that said nothing new.
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
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "dropped"}
        reasons = sorted(self.dropped.keys() | other.dropped.keys())
        return Counters(**sums, dropped={r: self.dropped.get(r, 0) + other.dropped.get(r, 0) for r in reasons})

    def lost(self) -> int:
        """How many events are gone for good."""
        return sum(self.dropped.values())


class Ledger:
    """The tallies of one transport in one process."""

    def __init__(self) -> None:
        self.emitted = Tally()
        self.delivered = Tally()
        self.spooled = Tally()
        self.replayed = Tally()
        self.throttled = Tally()
        self.cut = Tally()
        self.redacted = Tally()
        self._dropped: dict[str, Tally] = {}

    def drop(self, reason: DropReason, n: int = 1) -> None:
        self._dropped.setdefault(reason, Tally()).add(n)

    def counters(self) -> Counters:
        dropped = {reason: tally.read() for reason, tally in sorted(self._dropped.items())}
        return Counters(
            emitted=self.emitted.read(),
            delivered=self.delivered.read(),
            spooled=self.spooled.read(),
            replayed=self.replayed.read(),
            throttled=self.throttled.read(),
            cut=self.cut.read(),
            redacted=self.redacted.read(),
            dropped=dropped,
        )
