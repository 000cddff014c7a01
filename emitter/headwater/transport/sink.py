"""What stands at the far end of the queue: the port `Outlet`, and the one that leads to Kafka and the spool.

An outlet is used by one thread, the emitter's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from headwater.transport.broker import Broker, Fate, Message
from headwater.transport.counters import DropReason, Ledger
from headwater.transport.forking import without_forks
from headwater.transport.preparation import Preparation
from headwater.transport.replay import Replay
from headwater.transport.settings import HeadwaterConfig
from headwater.transport.spool import REFUSED, Spool, SpoolFault
from headwater.transport.wire import NotSerialisable

logger = logging.getLogger("headwater.transport")

RECONNECT_SECONDS = 30.0


class Outlet(Protocol):
    """Where events go."""

    def accept(self, event: Any) -> None:
        """Send the event, or begin to."""

    def work(self, seconds: float, hurry: bool) -> None:
        """Serve what is under way, waiting up to ``seconds``; ``hurry``: send what is buffered at once."""

    def pending(self) -> int:
        """How many events have no known fate."""

    def settled(self) -> bool:
        """Whether all that was accepted has been delivered, as far as this was not asked before."""

    def idle(self) -> float:
        """For how many seconds there is nothing to serve."""

    def give_up(self) -> None:
        """Put everything undelivered to disk and let go of it."""

    def look(self) -> None:
        """There is something new on disk: send it."""

    def begin_closing(self) -> None:
        """No more events come: what this process has on disk may be sent, too, while there is time."""

    def store(self, event: Any) -> None:
        """Put the event to disk instead of sending it."""


class KafkaOutlet:
    """Kafka, and the spool for what Kafka doesn't take."""

    def __init__(self, config: HeadwaterConfig, ledger: Ledger, connect: Callable[[HeadwaterConfig], Broker]) -> None:
        self._config = config
        self._ledger = ledger
        self._connect = connect
        self._broker: Broker | None = None
        self._connect_at = 0.0
        self._preparation: Preparation | None = None
        self._spool = Spool(Path(config.spool_dir), config.topic, config.spool_max_bytes)
        self._refused = Spool(Path(config.spool_dir), config.topic, config.spool_max_bytes, REFUSED)
        self._replay = Replay(self._spool, ledger, config.replay_interval, config.replay, self._set_aside)
        self._refusals = False
        self._answered_at = time.monotonic()
        self._replayed = 0
        self._away = False
        self._closing = False
        self._said: set[str] = set()

    def accept(self, event: Any) -> None:
        for message in self._prepare(event):
            self._send(message)

    def _prepare(self, event: Any) -> list[Message]:
        try:
            return self._prepared_by().messages(event, time.monotonic())
        except NotSerialisable as fault:
            self._drop("not_serialisable", str(fault))
            return []

    def _prepared_by(self) -> Preparation:
        if self._preparation is None:
            try:
                with without_forks():
                    self._preparation = Preparation(self._config, self._ledger)
            except ImportError as fault:
                self._say(f"events are sent as JSON: {self._config.format} needs {fault.name}")
                self._preparation = Preparation(replace(self._config, format="json", schema_id=0), self._ledger)
        return self._preparation

    def _send(self, message: Message) -> None:
        broker = self._reach()
        # While Kafka does not answer one message at a time finds out whether it is back.
        if broker is None or (self._away and broker.in_flight()):
            self._to_disk(message)
        elif not broker.send(message, self._on_done):
            broker.poll(0)
            if not broker.send(message, self._on_done):
                self._to_disk(message)

    def _reach(self) -> Broker | None:
        if self._broker is None and time.monotonic() >= self._connect_at:
            self._connect_at = time.monotonic() + RECONNECT_SECONDS
            try:
                with without_forks():
                    self._broker = self._connect(self._config)
            except (ImportError, ValueError) as fault:
                self._say(f"no Kafka: {fault}; events are kept in {self._config.spool_dir}")
        return self._broker

    def _on_done(self, message: Message, fate: Fate, why: str) -> None:
        if fate == "delivered":
            self._ledger.delivered.tick()
            self._answered()
            return
        self._refusals |= fate == "refused"
        self._say(f"Kafka did not take an event: {why}; such events are kept in {self._config.spool_dir}")
        self._to_disk(message, self._refused if fate == "refused" else self._spool)

    def _set_aside(self, message: Message) -> None:
        self._to_disk(message, self._refused)

    def _to_disk(self, message: Message, spool: Spool | None = None) -> None:
        try:
            removed = (spool or self._spool).append(message)
        except SpoolFault as fault:
            self._drop(fault.reason, str(fault))
            return
        self._ledger.spooled.tick()
        if removed:
            self._drop("spool_oldest", f"the spool has its {self._config.spool_max_bytes} bytes", removed)

    def _drop(self, reason: DropReason, detail: str, n: int = 1) -> None:
        self._ledger.drop(reason, n)
        self._say(f"lineage events are lost ({reason}): {detail}", key=reason)

    def _say(self, text: str, key: str = "") -> None:
        # Once each: a job's log is not the place for a broker's state.
        if (key or text) not in self._said and len(self._said) < 100:
            self._said.add(key or text)
            logger.warning("%s", text)

    def work(self, seconds: float, hurry: bool) -> None:
        broker = self._reach()
        if broker is None:
            time.sleep(min(seconds, 0.05))
            return
        if not broker.in_flight():
            self._answered_at = time.monotonic()
        if not hurry or self._closing:
            self._replay.step(broker, time.monotonic())
        (broker.push if hurry else broker.poll)(seconds)
        if self._replay.acknowledged != self._replayed:
            self._replayed = self._replay.acknowledged
            self._answered()
        if not hurry and broker.in_flight() and time.monotonic() - self._answered_at > self._config.spool_after:
            self._away = True
            broker.recall()

    def _answered(self) -> None:
        self._answered_at = time.monotonic()
        if self._away:
            self._away = False
            if self._config.replay:
                self._replay.look()

    def pending(self) -> int:
        if self._broker is None:
            return 0
        more = self._closing and not self._replay.idle(time.monotonic()) and self._spool.holds_own()
        return self._broker.in_flight() + more

    def begin_closing(self) -> None:
        self._closing = self._config.replay and self._spool.holds_own()
        if self._closing:
            self._replay.look()

    def settled(self) -> bool:
        refusals, self._refusals = self._refusals, False
        return self.pending() == 0 and not self._spool.holds_own() and not refusals

    def idle(self) -> float:
        if self.pending():
            return 0.0
        return self._replay.idle(time.monotonic())

    def give_up(self) -> None:
        if self._broker is not None and self._broker.in_flight():
            self._broker.recall()
        self._replay.stop()
        self._spool.close()
        self._refused.close()

    def store(self, event: Any) -> None:
        for message in self._prepare(event):
            self._to_disk(message)

    def look(self) -> None:
        self._replay.look()
