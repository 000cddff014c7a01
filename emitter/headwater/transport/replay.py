"""Sending what the spool holds, in small steps between the events of the day.

The first record of a segment goes alone: while Kafka is away nothing else is read. A segment is removed when each of
its whole records is acknowledged (set aside, if others are damaged); a step that fails leaves it as it is. What was sent
twice joins to one (SPEC, the theorem).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator

from headwater.transport.broker import Broker, Fate, Message
from headwater.transport.counters import Ledger
from headwater.transport.spool import Segment, Spool

logger = logging.getLogger("headwater.transport")

AT_ONCE = 500


class Replay:
    """The one segment being sent, if any, and when to look for the next."""

    def __init__(
        self, spool: Spool, ledger: Ledger, interval: float, active: bool, set_aside: Callable[[Message], None]
    ) -> None:
        self._spool = spool
        self._ledger = ledger
        self._interval = interval
        self._set_aside = set_aside
        # An emitter that is not to replay does so only when told to look: for what it has itself put there.
        self._next_look = 0.0 if active else math.inf
        self._active = active
        self._segment: Segment | None = None
        self._messages: Iterator[Message] = iter(())
        self._waiting = 0
        self._acknowledged = 0
        self._read_all = False
        self._failed = ""
        self.acknowledged = 0
        """How many records Kafka has taken so far."""

    def idle(self, now: float) -> float:
        """Seconds until there may be something to do."""
        return 0.0 if self._segment is not None else max(0.0, self._next_look - now)

    def step(self, broker: Broker, now: float) -> None:
        """Send some more, or look for a segment if it is time; never waits."""
        if self._segment is None and now >= self._next_look:
            self._begin(now)
        if self._segment is None:
            return
        room = AT_ONCE if self._acknowledged else 1
        while not self._read_all and not self._failed and self._waiting < room:
            self._send_one(broker)
        if self._waiting == 0 and (self._read_all or self._failed):
            self._end(now)

    def look(self) -> None:
        """Look at the next step."""
        self._next_look = 0.0

    def _begin(self, now: float) -> None:
        self._next_look = now + self._interval if self._active else math.inf
        self._segment = self._spool.claim()
        if self._segment is not None:
            self._messages = self._segment.messages()
            self._waiting = self._acknowledged = 0
            self._read_all, self._failed = False, ""

    def _send_one(self, broker: Broker) -> None:
        try:
            message = next(self._messages, None)
        except OSError as fault:
            self._failed = str(fault)
            return
        if message is None:
            self._read_all = True
            return
        self._waiting += 1
        if not broker.send(message, self._on_done):
            self._waiting -= 1
            self._failed = "the Kafka client's buffer is full"

    def _on_done(self, message: Message, fate: Fate, why: str) -> None:
        self._waiting -= 1
        if fate == "delivered":
            self._acknowledged += 1
            self.acknowledged += 1
            self._ledger.replayed.tick()
        elif fate == "refused":
            # It would be refused each time, and hold up all that come after it.
            self._set_aside(message)
            self._acknowledged += 1
        else:
            self._failed = why

    def _end(self, now: float) -> None:
        assert self._segment is not None
        if self._failed:
            logger.debug("spool segment %s stays: %s", self._segment.path.name, self._failed)
            self._segment.release()
        else:
            if lost := self._segment.retire():
                self._ledger.drop("torn", lost)
            # There may be more, and Kafka is there.
            self._next_look = now
        self._segment = None

    def stop(self) -> None:
        """Let go of the segment; another emitter sends it."""
        if self._segment is not None:
            self._failed = self._failed or ("" if self._read_all and not self._waiting else "the emitter ends")
            self._end(0.0)
