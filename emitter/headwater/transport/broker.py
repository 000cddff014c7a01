"""The port to Kafka: each message that is sent is reported once with its delivery status.

The port is ``Broker``; ``KafkaBroker`` connects to Kafka. The Kafka client's errors are translated in ``delivery`` and
nowhere else.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from headwater_avro.errors import ConfigError
from headwater_avro.kafka_refusals import Refusals
from headwater_avro.signatures import ProducerKey, read_key

from .kafka_errors import DeliveryStatus, delivery_status
from .settings import HeadwaterConfig

logger = logging.getLogger("headwater.transport")

PROBE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Message:
    """A Kafka message: ``key`` determines the partition; with None it is random."""

    key: bytes | None
    value: bytes


Done: TypeAlias = Callable[[Message, DeliveryStatus, str], None]
"""Called with the message, its status, and Kafka's reason."""


class Broker(Protocol):
    """What the emitter needs of Kafka; only ``poll`` and ``push`` wait, for at most the given time."""

    def send(self, message: Message, done: Done) -> bool:
        """Accept the message and return True, or return False if the buffer is full."""

    def poll(self, seconds: float) -> None:
        """Report finished messages, waiting up to ``seconds`` for one."""

    def push(self, seconds: float) -> None:
        """As ``poll``, but send buffered messages without waiting for more."""

    def in_flight(self) -> int:
        """Return how many messages have no status yet."""

    def recall(self) -> None:
        """Report every message without a status as ``unavailable``."""


def producer_settings(config: HeadwaterConfig) -> dict[str, Any]:
    """Return the Kafka client's settings; the user's own take precedence."""
    return {
        "bootstrap.servers": config.bootstrap_servers,
        "client.id": "headwater",
        "enable.idempotence": True,
        "compression.type": "zstd",
        # Java's clients partition this way, so the events of a run share a partition whichever client sends them.
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
    """Apache Kafka through confluent-kafka; not thread-safe.

    Raises ImportError without confluent-kafka, ValueError for settings that the client doesn't accept.
    """

    def __init__(self, config: HeadwaterConfig) -> None:
        import confluent_kafka

        self._kafka = confluent_kafka
        self._topic = config.topic
        self._settings = producer_settings(config) | {"error_cb": self._on_error, "logger": _quiet_logger()}
        if config.oauth_callback:
            self._settings["oauth_cb"] = import_callback(config.oauth_callback)
        self._has_fatal_error = False
        self._has_delivered = self._has_warned = False
        self._refusals = Refusals(self._warn)
        self._key = _signing_key(config)
        self._waiting = 0
        self._producer = self._connect()

    def _connect(self) -> Any:
        try:
            return self._kafka.Producer(self._settings)
        except (self._kafka.KafkaException, ValueError, TypeError) as fault:
            raise ValueError(f"the Kafka client does not accept its settings: {fault}") from fault

    def send(self, message: Message, done: Done) -> bool:
        def on_delivery(error: Any, sent: Any) -> None:
            # Read from the report: the client has a copy of the message, and a second would double the memory.
            self._waiting -= 1
            self._has_delivered = self._has_delivered or error is None
            done(Message(sent.key(), sent.value() or b""), *_status(error))

        if self._has_fatal_error and not self._waiting:
            self._producer, self._has_fatal_error = self._connect(), False
        try:
            headers = self._key.headers(message.value) if self._key else None
            self._producer.produce(self._topic, message.value, message.key, on_delivery=on_delivery, headers=headers)
        except BufferError:
            return False
        except self._kafka.KafkaException as fault:
            done(message, *_status(fault.args[0]))
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

    def reaches(self) -> bool:
        """Return whether a broker responds within ``PROBE_SECONDS``."""
        try:
            self._producer.list_topics(timeout=PROBE_SECONDS)
        except self._kafka.KafkaException:
            return False
        return True

    def _on_error(self, error: Any) -> None:
        # A fatal error ends an idempotent producer; a new one is created when this one's messages are reported.
        self._has_fatal_error = self._has_fatal_error or error.fatal()
        self._refusals.heard(error)
        logger.info("Kafka: %s", error.str())

    def _warn(self, refusal: str) -> None:
        # Without it, a job whose account is wrong fills its spool and nobody sees why.
        if not self._has_delivered and not self._has_warned:
            self._has_warned = True
            logger.warning("Kafka refuses the connection, so lineage events are stored on disk: %s", refusal)


def _signing_key(config: HeadwaterConfig) -> ProducerKey | None:
    """Return the key of this producer; raises ValueError, so that events wait in the spool instead of going unsigned."""
    if not config.signing_key_file:
        return None
    try:
        return read_key(Path(config.signing_key_file))
    except ConfigError as fault:
        raise ValueError(f"signing_key_file: {fault}") from fault


def _status(error: Any) -> tuple[DeliveryStatus, str]:
    return delivery_status(error), "" if error is None else error.str()


def import_callback(path: str) -> Callable[[str], tuple[str, float]]:
    """Return the function named ``package.module:function``; raise ValueError if there is none."""
    module, _, name = path.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as fault:
        raise ValueError(f"oauth_callback {path!r}: {fault}") from fault
    if not callable(function):
        raise ValueError(f"oauth_callback {path!r} is not a function")
    return function  # type: ignore[no-any-return]


def _quiet_logger() -> logging.Logger:
    # The client repeats "connection refused" while a broker is unavailable; relevant errors come through error_cb.
    quiet = logging.getLogger("headwater.transport.kafka")
    if quiet.level == logging.NOTSET:
        quiet.setLevel(logging.CRITICAL)
    return quiet
