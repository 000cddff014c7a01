"""Dead letters: messages that can't be used, kept unchanged on a topic of their own with the reason (specification 8).

A dead letter has the key, value, headers and timestamp of the message it was, and after its headers these six:

==========================  ===================================================================
headwater.dead.code         one of the reason codes of specification 8
headwater.dead.detail       what is wrong with this very message, at most 1,000 characters
headwater.dead.topic        the topic that the message came from
headwater.dead.partition    its partition there
headwater.dead.offset       its offset there
headwater.dead.time         when it was found to be unusable, ISO 8601 in UTC
==========================  ===================================================================

After a crash a batch is read again, so a letter may stand on the topic twice: what a letter *is* is told by the
(topic, partition, offset) it came from, and every count is of distinct ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Producer

from headwater_avro.errors import ServerUnavailable
from headwater_consumer.kafka.messages import Headers, Message, messages_on

PREFIX = "headwater.dead."
NAMES = tuple(PREFIX + name for name in ("code", "detail", "topic", "partition", "offset", "time"))
"""The headers that make a message a dead letter, in the order in which they are written."""

REDRIVEN = "headwater.redriven.from"
"""The header of a message sent back to its topic: the ``topic/partition/offset`` at which it was first unusable."""

LONGEST_DETAIL = 1_000
SPARE_BYTES = 65_536
"""How much greater the dead-letter topic's ``max.message.bytes`` is than the source's: room for the headers above."""

DELIVERY = 60.0
"""Seconds in which the broker must have acknowledged a batch's dead letters."""

Identity: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset at which a message was first found unusable."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that can't be used, why, and when that was found."""

    message: Message
    code: str
    detail: str
    time: datetime

    @property
    def identity(self) -> Identity:
        """Where the message first was unusable: a message sent back in vain stays the same letter."""
        for name, value in self.message.headers:
            if name == REDRIVEN and value is not None:
                topic, partition, offset = value.decode().rsplit("/", 2)
                return (topic, int(partition), int(offset))
        return (self.message.topic, self.message.partition, self.message.offset)

    def headers(self) -> list[tuple[str, bytes | None]]:
        """Return the message's headers and after them the six of `NAMES`."""
        message = self.message
        told = (self.code, self.detail[:LONGEST_DETAIL], message.topic, message.partition, message.offset)
        values = [*map(str, told), self.time.astimezone(UTC).isoformat()]
        return [*message.headers, *((name, value.encode()) for name, value in zip(NAMES, values, strict=True))]


def read_letter(found: Message) -> DeadLetter | None:
    """Return the dead letter that a message of the dead-letter topic is, None where it lacks a header of `NAMES`."""
    told = {name: value.decode("utf-8", "replace") for name, value in found.headers if value and name in NAMES}
    if len(told) < len(NAMES):
        return None
    code, detail, topic, partition, offset, when = (told[name] for name in NAMES)
    message = Message(
        topic, int(partition), int(offset), found.timestamp, found.key, found.value, without_reason(found.headers)
    )
    return DeadLetter(message, code, detail, datetime.fromisoformat(when))


def letters_on(client: dict[str, Any], topic: str) -> Iterator[tuple[Message, DeadLetter]]:
    """Yield each dead letter on a topic with the message that holds it, oldest first in each partition.

    One that was written twice comes twice, with the same identity. Raises ServerUnavailable, ConfigError where there is
    no such topic.
    """
    for message in messages_on(client, topic):
        letter = read_letter(message)
        if letter is not None:
            yield message, letter


def without_reason(headers: Headers) -> Headers:
    """Return the headers that the message had before it was a dead letter."""
    return tuple(header for header in headers if header[0] not in NAMES)


class DeadLetterSink(Protocol):
    """Where dead letters go."""

    def send(self, letters: Iterable[DeadLetter]) -> None:
        """Return when every letter is acknowledged; raise ServerUnavailable when some are not: send all of them again."""


class CollectedDeadLetters:
    """The fake: letters in a list; ``faults`` are raised first, one by one."""

    def __init__(self, faults: Iterable[Exception] = ()) -> None:
        self.letters: list[DeadLetter] = []
        self._faults: Iterator[Exception] = iter(faults)

    def send(self, letters: Iterable[DeadLetter]) -> None:
        for fault in self._faults:
            raise fault
        self.letters.extend(letters)


class KafkaDeadLetters:
    """Dead letters on a Kafka topic, each acknowledged by all in-sync replicas."""

    def __init__(self, topic: str, client: dict[str, Any]) -> None:
        self._topic = topic
        self._address = str(client["bootstrap.servers"])
        self._producer = Producer(writing(client))

    def send(self, letters: Iterable[DeadLetter]) -> None:
        faults: list[KafkaError] = []
        for letter in letters:
            self._produce(letter, faults)
        unsent = self._producer.flush(DELIVERY)
        if unsent or faults:
            # What still waits would otherwise be sent besides its repetition.
            self._producer.purge()
            self._producer.flush(1.0)
            raise self._undelivered(faults)

    def _produce(self, letter: DeadLetter, faults: list[KafkaError]) -> None:
        def acknowledged(fault: KafkaError | None, _: object) -> None:
            if fault is not None:
                faults.append(fault)

        message = letter.message
        timestamp = {"timestamp": message.timestamp} if message.timestamp > 0 else {}
        send_message(
            self._producer,
            self._topic,
            value=message.value,
            key=message.key,
            headers=letter.headers(),
            on_delivery=acknowledged,
            **timestamp,
        )

    def _undelivered(self, faults: list[KafkaError]) -> ServerUnavailable:
        for fault in faults:
            if fault.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                hint = f"raise max.message.bytes of the topic {self._topic}: a dead letter is larger"
                return ServerUnavailable("Kafka's dead-letter topic", self._address, hint)
        why = faults[0].str() if faults else f"no acknowledgement within {DELIVERY:.0f} s"
        return ServerUnavailable("Kafka's dead-letter topic", self._address, why)


def writing(client: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a producer whose messages are of any size, in order and acknowledged."""
    return client | {
        "enable.idempotence": True,
        "compression.type": "zstd",
        "message.max.bytes": 1_000_000_000,
        "queue.buffering.max.kbytes": 1_048_576,
        "delivery.timeout.ms": int(DELIVERY * 500),
        "linger.ms": 5,
        "partitioner": "murmur2_random",
    }


def send_message(producer: Producer, topic: str, **message: Any) -> None:
    """Hand a message to the producer, waiting while its queue is full."""
    give_up = time.monotonic() + DELIVERY
    while True:
        try:
            producer.produce(topic, **message)
        except BufferError:
            if time.monotonic() > give_up:
                raise ServerUnavailable("Kafka", topic, "its producer's queue stays full") from None
            producer.poll(0.1)
        except KafkaException as fault:
            raise ServerUnavailable("Kafka", topic, str(fault.args[0])) from fault
        else:
            producer.poll(0)
            return


Clock: TypeAlias = Callable[[], datetime]
"""Tells the present moment, in UTC."""


def now() -> datetime:
    """Tell the present moment, in UTC."""
    return datetime.now(UTC)
