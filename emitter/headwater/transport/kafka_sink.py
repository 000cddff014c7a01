"""The sink that sends events to Kafka, and writes those that Kafka does not accept to the spool."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .broker import Broker, Message
from .counters import DropReason, TransportCounters
from .kafka_errors import DeliveryStatus
from .preparation import Preparation
from .process.forking import without_forks
from .settings import HeadwaterConfig
from .sink import Sink
from .spool import REFUSED, Spool, SpoolError
from .spool.replay import Replay
from .wire import NotSerialisable

logger = logging.getLogger("headwater.transport")

RECONNECT_SECONDS = 30.0


class KafkaSink(Sink):
    """Kafka, and the spool for what Kafka doesn't accept.

    ``on_silence`` is called when Kafka, which has not responded to this process yet, does not respond for ``spool_after``
    seconds. All events are then on disk, where other processes can send them.
    """

    def __init__(
        self,
        config: HeadwaterConfig,
        counters: TransportCounters,
        connect: Callable[[HeadwaterConfig], Broker],
        on_silence: Callable[[], None] = lambda: None,
    ) -> None:
        self._config = config
        self._counters = counters
        self._connect = connect
        self._on_silence = on_silence
        self._broker: Broker | None = None
        self._connect_at = 0.0
        self._preparation: Preparation | None = None
        self._spool = Spool(Path(config.spool_dir), config.topic, config.spool_max_bytes)
        self._refused = Spool(Path(config.spool_dir), config.topic, config.spool_max_bytes, REFUSED)
        set_aside = partial(self._write_to_spool, spool=self._refused)
        self._replay = Replay(self._spool, counters, config.replay_interval, config.replay, set_aside)
        self._has_refusals = False
        self._answered_at = time.monotonic()
        self._replayed = 0
        self._is_unavailable = False
        self._has_answered = False
        self._closing = False
        self._logged: set[str] = set()

    def accept(self, event: Any) -> None:
        for message in self._prepare(event):
            self._send(message)

    def _prepare(self, event: Any) -> list[Message]:
        try:
            return self._made_preparation().messages(event, time.monotonic())
        except NotSerialisable as fault:
            self._drop("not_serialisable", str(fault))
            return []

    def _made_preparation(self) -> Preparation:
        if self._preparation is None:
            try:
                with without_forks():
                    self._preparation = Preparation(self._config, self._counters)
            except ImportError as fault:
                self._warn_once(f"events are sent as JSON: the format {self._config.format} needs {fault.name}")
                self._preparation = Preparation(replace(self._config, format="json", schema_id=0), self._counters)
        return self._preparation

    def _send(self, message: Message) -> None:
        broker = self._reach()
        # While Kafka does not respond, one message at a time finds out whether it is back.
        if broker is None or (self._is_unavailable and broker.in_flight()):
            self._write_to_spool(message)
        elif not broker.send(message, self._on_done):
            broker.poll(0)
            if not broker.send(message, self._on_done):
                self._write_to_spool(message)

    def _reach(self) -> Broker | None:
        if self._broker is None and time.monotonic() >= self._connect_at:
            self._connect_at = time.monotonic() + RECONNECT_SECONDS
            try:
                with without_forks():
                    self._broker = self._connect(self._config)
            except (ImportError, ValueError) as fault:
                self._warn_once(f"no connection to Kafka: {fault}; events are stored in {self._config.spool_dir}")
        return self._broker

    def _on_done(self, message: Message, status: DeliveryStatus, reason: str) -> None:
        if status == "delivered":
            self._counters.delivered.increment()
            self._on_answer()
            return
        self._has_refusals |= status == "refused"
        self._warn_once(f"Kafka did not accept an event: {reason}; such events are stored in {self._config.spool_dir}")
        self._write_to_spool(message, self._refused if status == "refused" else self._spool)

    def _write_to_spool(self, message: Message, spool: Spool | None = None) -> None:
        try:
            removed = (spool or self._spool).append(message)
        except SpoolError as fault:
            self._drop(fault.reason, str(fault))
            return
        self._counters.spooled.increment()
        if removed:
            self._drop("spool_oldest", f"the spool has reached {self._config.spool_max_bytes} bytes", removed)

    def _drop(self, reason: DropReason, detail: str, n: int = 1) -> None:
        self._counters.add_dropped(reason, n)
        self._warn_once(f"lineage events are lost ({reason}): {detail}", key=reason)

    def _warn_once(self, text: str, key: str = "") -> None:
        # A job's log is not the place for the state of a broker.
        if (key or text) not in self._logged and len(self._logged) < 100:
            self._logged.add(key or text)
            logger.warning("%s", text)

    def work(self, seconds: float, urgent: bool) -> None:
        broker = self._reach()
        if broker is None:
            time.sleep(min(seconds, 0.05))
            return
        if not broker.in_flight():
            self._answered_at = time.monotonic()
        if not urgent or self._closing:
            self._replay.step(broker, time.monotonic())
        (broker.push if urgent else broker.poll)(seconds)
        if self._replay.acknowledged != self._replayed:
            self._replayed = self._replay.acknowledged
            self._on_answer()
        if not urgent and broker.in_flight() and time.monotonic() - self._answered_at > self._config.spool_after:
            self._store_unanswered(broker)

    def _store_unanswered(self, broker: Broker) -> None:
        self._is_unavailable = True
        broker.recall()
        if not self._has_answered:
            self._replay.stop()
            self._spool.close()
            self._on_silence()

    def _on_answer(self) -> None:
        self._answered_at = time.monotonic()
        self._has_answered = True
        if self._is_unavailable:
            self._is_unavailable = False
            if self._config.replay:
                self._replay.check_spool()

    def pending(self) -> int:
        if self._broker is None:
            return 0
        more = self._closing and not self._replay.idle_seconds(time.monotonic()) and self._spool.has_own_segments()
        return self._broker.in_flight() + more

    def begin_closing(self) -> None:
        self._closing = self._config.replay and self._spool.has_own_segments()
        if self._closing:
            self._replay.check_spool()

    def all_delivered(self) -> bool:
        has_refusals, self._has_refusals = self._has_refusals, False
        return self.pending() == 0 and not self._spool.has_own_segments() and not has_refusals

    def idle_seconds(self) -> float:
        return 0.0 if self.pending() else self._replay.idle_seconds(time.monotonic())

    def release(self) -> None:
        if self._broker is not None and self._broker.in_flight():
            self._broker.recall()
        self._replay.stop()
        self._spool.close()
        self._refused.close()

    def store(self, event: Any) -> None:
        for message in self._prepare(event):
            self._write_to_spool(message)

    def check_spool(self) -> None:
        self._replay.check_spool()
