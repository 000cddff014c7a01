"""Sending what the spool contains, in small steps between new events.

The first record of a segment is sent alone: while Kafka is unavailable, nothing else is read. A segment is removed when
all of its whole records are acknowledged (set aside if others are damaged); a step that fails leaves it unchanged.
Records that are sent twice are merged by consumers.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator

from ..broker import Broker, Message
from ..counters import TransportCounters
from ..kafka_errors import DeliveryStatus
from .segments import Segment
from .spool import Spool

logger = logging.getLogger("headwater.transport")

MAX_IN_FLIGHT = 500


class Replay:
    """The one segment that is being sent, if any, and the time of the next search for one."""

    def __init__(
        self,
        spool: Spool,
        counters: TransportCounters,
        interval: float,
        active: bool,
        set_aside: Callable[[Message], None],
    ) -> None:
        self._spool = spool
        self._counters = counters
        self._interval = interval
        self._set_aside = set_aside
        # An emitter that is not to replay does so only after ``check_spool``: for segments that it has written itself.
        self._next_search = 0.0 if active else math.inf
        self._active = active
        self._segment: Segment | None = None
        self._messages: Iterator[Message] = iter(())
        self._waiting = 0
        self._has_acknowledged = False
        self._read_all = False
        self._failed = ""
        self.acknowledged = 0
        """How many records Kafka has acknowledged so far."""

    def idle_seconds(self, now: float) -> float:
        """Return the seconds until there may be something to do."""
        return 0.0 if self._segment is not None else max(0.0, self._next_search - now)

    def step(self, broker: Broker, now: float) -> None:
        """Send some more, or search for a segment if it is time; never waits."""
        if self._segment is None and now >= self._next_search:
            self._begin(now)
        if self._segment is None:
            return
        room = MAX_IN_FLIGHT if self._has_acknowledged else 1
        while not self._read_all and not self._failed and self._waiting < room:
            self._send_next(broker)
        if self._waiting == 0 and (self._read_all or self._failed):
            self._end(now)

    def check_spool(self) -> None:
        """Search for a segment at the next step."""
        self._next_search = 0.0

    def _begin(self, now: float) -> None:
        self._next_search = now + self._interval if self._active else math.inf
        self._segment = self._spool.claim()
        if self._segment is not None:
            self._messages = self._segment.messages()
            self._waiting, self._has_acknowledged = 0, False
            self._read_all, self._failed = False, ""

    def _send_next(self, broker: Broker) -> None:
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

    def _on_done(self, message: Message, status: DeliveryStatus, reason: str) -> None:
        self._waiting -= 1
        if status == "delivered":
            self._has_acknowledged = True
            self.acknowledged += 1
            self._counters.replayed.increment()
        elif status == "refused":
            # Kafka would refuse it each time, and all records after it would wait.
            self._set_aside(message)
            self._has_acknowledged = True
        else:
            self._failed = reason

    def _end(self, now: float) -> None:
        assert self._segment is not None
        if self._failed:
            logger.debug("spool segment %s stays: %s", self._segment.path.name, self._failed)
            self._segment.release()
        else:
            if lost := self._segment.retire():
                self._counters.add_dropped("torn", lost)
            # There may be more, and Kafka is available.
            self._next_search = now
        self._segment = None

    def stop(self) -> None:
        """Release the segment; another emitter sends it."""
        if self._segment is not None:
            self._failed = self._failed or ("" if self._read_all and not self._waiting else "the emitter closes")
            self._end(0.0)
