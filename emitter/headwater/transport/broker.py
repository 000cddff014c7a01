"""The port to Kafka: messages go in, and each comes back once with its fate.

`KafkaBroker` is the one that talks to Kafka, `MemoryBroker` the one for tests and trials. The Kafka client's errors are
translated here and nowhere else.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from headwater.transport.delivery import DeliveryStatus, delivery_status
from headwater.transport.settings import HeadwaterConfig

logger = logging.getLogger("headwater.transport")

Fate: TypeAlias = DeliveryStatus

PROBE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Message:
    """A Kafka message: ``key`` decides the partition, None spreads."""

    key: bytes | None
    value: bytes


Done: TypeAlias = Callable[[Message, Fate, str], None]
"""Called with the message, its fate, and what Kafka said."""


class Broker(Protocol):
    """What the emitter needs of Kafka; only `poll` and `push` wait, as long as they are told."""

    def send(self, message: Message, done: Done) -> bool:
        """Take the message; False: there is no room now."""

    def poll(self, seconds: float) -> None:
        """Call what is done, waiting up to ``seconds`` for something to be."""

    def push(self, seconds: float) -> None:
        """As `poll`, but what is buffered goes out without waiting for more."""

    def in_flight(self) -> int:
        """How many messages have no fate yet."""

    def recall(self) -> None:
        """Give every message without a fate back as ``unavailable``."""


class MemoryBroker:
    """A broker that keeps what it gets in a list; ``available`` and ``refuses`` make its moods."""

    def __init__(self, refuses: Callable[[Message], bool] = lambda _: False, room: int = 1_000) -> None:
        self.received: list[Message] = []
        self.available = True
        self._refuses = refuses
        self._room = room
        self._waiting: list[tuple[Message, Done]] = []

    def send(self, message: Message, done: Done) -> bool:
        if len(self._waiting) >= self._room:
            return False
        self._waiting.append((message, done))
        return True

    def poll(self, seconds: float) -> None:
        if not self.available:
            return
        waiting, self._waiting = self._waiting, []
        for message, done in waiting:
            if self._refuses(message):
                done(message, "refused", "told to")
            else:
                self.received.append(message)
                done(message, "delivered", "")

    def push(self, seconds: float) -> None:
        self.poll(seconds)

    def in_flight(self) -> int:
        return len(self._waiting)

    def recall(self) -> None:
        waiting, self._waiting = self._waiting, []
        for message, done in waiting:
            done(message, "unavailable", "recalled")


def producer_settings(config: HeadwaterConfig) -> dict[str, Any]:
    """The Kafka client's settings; those the user gave win."""
    return {
        "bootstrap.servers": config.bootstrap_servers,
        "client.id": "headwater",
        "enable.idempotence": True,
        "compression.type": "zstd",
        # As Java's clients place a key, so that the events of one run stay together whoever sends them.
        "partitioner": "murmur2_random",
        "linger.ms": 20,
        "message.max.bytes": 4 * 1024 * 1024,
        "queue.buffering.max.kbytes": 32 * 1024,
        "queue.buffering.max.messages": 10_000,
        "delivery.timeout.ms": round(config.delivery_timeout * 1000),
        "socket.connection.setup.timeout.ms": 5_000,
        "reconnect.backoff.max.ms": 10_000,
        "log.connection.close": False,
        **config.kafka,
    }


class KafkaBroker:
    """Apache Kafka through confluent-kafka; used by one thread at a time.

    Raises ImportError without confluent-kafka, ValueError for settings that the client doesn't accept.
    """

    def __init__(self, config: HeadwaterConfig, said: Callable[[str], None] = logger.info) -> None:
        import confluent_kafka

        self._kafka = confluent_kafka
        self._topic = config.topic
        self._settings = producer_settings(config) | {"error_cb": self._on_error, "logger": _quiet_logger()}
        if config.oauth_callback:
            self._settings["oauth_cb"] = import_callback(config.oauth_callback)
        self._said = said
        self._broken = False
        self._waiting = 0
        self._producer = self._connect()

    def _connect(self) -> Any:
        try:
            return self._kafka.Producer(self._settings)
        except (self._kafka.KafkaException, ValueError, TypeError) as fault:
            raise ValueError(f"the Kafka client does not accept its settings: {fault}") from fault

    def send(self, message: Message, done: Done) -> bool:
        def on_delivery(error: Any, sent: Any) -> None:
            # Read back rather than held: the client has its own copy, and one is enough while Kafka is away.
            self._waiting -= 1
            done(Message(sent.key(), sent.value() or b""), *self._fate(error))

        if self._broken and not self._waiting:
            self._producer, self._broken = self._connect(), False
        try:
            self._producer.produce(self._topic, key=message.key, value=message.value, on_delivery=on_delivery)
        except BufferError:
            return False
        except self._kafka.KafkaException as fault:
            done(message, *self._fate(fault.args[0]))
        else:
            self._waiting += 1
        return True

    def poll(self, seconds: float) -> None:
        self._producer.poll(seconds)

    def push(self, seconds: float) -> None:
        self._producer.flush(seconds)

    def in_flight(self) -> int:
        # The client's own count includes its log lines and errors.
        return self._waiting

    def recall(self) -> None:
        self._producer.purge(in_queue=True, in_flight=True, blocking=True)
        for _ in range(10):
            if self._waiting:
                self._producer.flush(0.1)

    def reaches(self, seconds: float = PROBE_SECONDS) -> bool:
        """Whether a broker answers within ``seconds``."""
        try:
            self._producer.list_topics(timeout=seconds)
        except self._kafka.KafkaException:
            return False
        return True

    def _fate(self, error: Any) -> tuple[Fate, str]:
        return delivery_status(error), "" if error is None else error.str()

    def _on_error(self, error: Any) -> None:
        # A fatal error ends an idempotent producer for good; a new one is made once this one's messages are back.
        self._broken = self._broken or error.fatal()
        self._said(f"Kafka: {error.str()}")


def import_callback(path: str) -> Callable[[str], tuple[str, float]]:
    """The function named ``package.module:function``; raises ValueError where there is none."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as fault:
        raise ValueError(f"oauth_callback {path!r}: {fault}") from fault
    if not callable(found):
        raise ValueError(f"oauth_callback {path!r} is not a function")
    return found  # type: ignore[no-any-return]


def _quiet_logger() -> logging.Logger:
    # The client repeats "connection refused" for as long as a broker is away; what matters is told through error_cb.
    quiet = logging.getLogger("headwater.transport.kafka")
    if quiet.level == logging.NOTSET:
        quiet.setLevel(logging.CRITICAL)
    return quiet
