"""Dead letters: messages that can't be used, stored unchanged on a separate topic with the reason (specification 8).

A dead letter has the key, value and headers of its message, followed by seven more headers:

==========================  ===================================================================
headwater.dead.code         one of the reason codes of specification 8
headwater.dead.detail       what is wrong with this message, at most 1,000 characters
headwater.dead.topic        the source topic of the message
headwater.dead.partition    its partition there
headwater.dead.offset       its offset there
headwater.dead.time         when it was rejected, ISO 8601 in UTC
headwater.dead.timestamp    the timestamp of the message, in milliseconds; -1: none
==========================  ===================================================================

It is sent with the current time, because a topic refuses times in the future and deletes messages with old times.

A letter that its topic refuses permanently is sent in a reduced form: its value is the beginning of the message's value,
large headers are left out, and three headers describe the message. The message itself is fetched by its position.

==========================  ===================================================================
headwater.dead.reduced      why the topic has refused the complete letter
headwater.dead.sha256       the SHA-256 of the message's value
headwater.dead.bytes        the length of the message's value; -1: it has none
==========================  ===================================================================

After a crash a batch is read again, so a letter may be on the topic twice. The identity of a letter is the (topic, partition,
offset) of its message, and every count is of distinct letters.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Protocol, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Producer

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_consumer.kafka.brokers import raise_message_limit
from headwater_consumer.kafka.messages import Headers, Message, messages_on

logger = logging.getLogger("headwater.consumer")

PREFIX = "headwater.dead."
NAMES = tuple(PREFIX + name for name in ("code", "detail", "topic", "partition", "offset", "time"))
"""The headers that every dead letter has, in the order in which they are written."""

TIMESTAMP = PREFIX + "timestamp"
REDUCED, SHA256, BYTES = (PREFIX + name for name in ("reduced", "sha256", "bytes"))
_ADDED = {*NAMES, TIMESTAMP, REDUCED, SHA256, BYTES}

REDRIVEN = "headwater.redriven.from"
"""The header of a redriven message: the ``topic/partition/offset`` at which it was first rejected."""

LONGEST_DETAIL = 1_000
REDUCED_VALUE, REDUCED_HEADERS = 1_000, 4_000
"""Bytes of a message's value, and of its key and headers together, that a reduced letter has."""

DELIVERY = 60.0
"""Seconds within which the broker must acknowledge the dead letters of a batch."""

Identity: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset at which a message was first rejected."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """The description in a reduced letter: why it is reduced, SHA-256 and length of the message's value (-1: none)."""

    reason: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that can't be used, the reason, and the time of rejection; a ``reduced`` one has a part of the message."""

    message: Message
    code: str
    detail: str
    time: datetime
    reduced: Reduced | None = None

    @property
    def identity(self) -> Identity:
        """Where the message was first rejected: a redriven message that is rejected again is the same letter."""
        for name, value in self.message.headers:
            first = identity_in(value) if name == REDRIVEN and value is not None else None
            if first is not None:
                return first
        return (self.message.topic, self.message.partition, self.message.offset)

    @property
    def size(self) -> int:
        """The length of the message's value."""
        return max(self.reduced.bytes, 0) if self.reduced else len(self.message.value or b"")

    def headers(self) -> list[tuple[str, bytes | None]]:
        """Return the message's headers, followed by those of the letter."""
        message = self.message
        reason = (self.code, self.detail[:LONGEST_DETAIL], message.topic, message.partition, message.offset)
        values = [*map(str, reason), self.time.astimezone(UTC).isoformat()]
        added = [*zip(NAMES, values, strict=True), (TIMESTAMP, str(message.timestamp))]
        if self.reduced:
            reduced = (self.reduced.reason, self.reduced.sha256, str(self.reduced.bytes))
            added += zip((REDUCED, SHA256, BYTES), reduced, strict=True)
        return [*message.headers, *((name, value.encode()) for name, value in added)]


_IDENTITY = re.compile(rb"(.+)/([0-9]{1,9})/([0-9]{1,18})", re.DOTALL)


def identity_in(text: bytes) -> Identity | None:
    """Return the parsed ``topic/partition/offset``; None if the text has another form."""
    found = _IDENTITY.fullmatch(text)
    if found is None:
        return None
    return (found[1].decode("utf-8", "replace"), int(found[2]), int(found[3]))


def reduced_form(letter: DeadLetter, reason: str) -> DeadLetter:
    """Return a letter without most of its message. It always has a key, because compacted topics require one."""
    message = letter.message
    value, key = message.value, message.key
    spare, headers = REDUCED_HEADERS, list[tuple[str, bytes | None]]()
    if not key or len(key) > spare:
        key = "/".join(map(str, letter.identity)).encode()
    for name, content in message.headers:
        size = len(name.encode()) + len(content or b"")
        if size <= spare:
            spare -= size
            headers.append((name, content))
    reduced = Reduced(reason[:LONGEST_DETAIL], sha256(value or b"").hexdigest(), -1 if value is None else len(value))
    part = Message(
        message.topic,
        message.partition,
        message.offset,
        message.timestamp,
        key,
        None if value is None else value[:REDUCED_VALUE],
        tuple(headers),
    )
    return DeadLetter(part, letter.code, letter.detail, letter.time, reduced)


def read_letter(found: Message) -> DeadLetter | None:
    """Return the dead letter in a message of the dead-letter topic.

    None if a header of ``NAMES`` is missing or malformed, since anybody may write to the topic.
    """
    given = {name: value.decode("utf-8", "replace") for name, value in found.headers if value and name in _ADDED}
    if not given.keys() >= set(NAMES):
        return None
    code, detail, topic, partition, offset, when = (given[name] for name in NAMES)
    try:
        # A letter of an earlier version does not have the header, but has the timestamp of its message.
        timestamp = int(given.get(TIMESTAMP, found.timestamp))
        place = (topic, int(partition), int(offset))
        found_at, reduced = datetime.fromisoformat(when), _reduced_in(given)
    except ValueError:
        return None
    message = Message(*place, timestamp, found.key, found.value, without_reason(found.headers))
    return DeadLetter(message, code, detail, found_at, reduced)


def _reduced_in(given: dict[str, str]) -> Reduced | None:
    return Reduced(given[REDUCED], given.get(SHA256, ""), int(given.get(BYTES, -1))) if REDUCED in given else None


def letters_on(client: dict[str, Any], topic: str) -> Iterator[tuple[Message, DeadLetter]]:
    """Yield each dead letter on a topic with the message that contains it, oldest first in each partition.

    A letter that was written twice comes twice, with the same identity. Raises ServerUnavailable, ConfigError if the topic
    does not exist.
    """
    for message in messages_on(client, topic):
        letter = read_letter(message)
        if letter is not None:
            yield message, letter


def without_reason(headers: Headers) -> Headers:
    """Return the headers of the original message."""
    return tuple(header for header in headers if header[0] not in _ADDED)


Refusals: TypeAlias = list[tuple[DeadLetter, KafkaError]]
"""Letters that their topic refuses, with the errors."""

REFUSED = frozenset(
    (
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_MSG_SIZE,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.POLICY_VIOLATION,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        KafkaError._INVALID_DIFFERENT_RECORD,
    )
)
"""Errors by which a topic refuses a dead letter permanently; of other messages see the emitter's ``kafka_errors``."""


class DeadLetterSink(Protocol):
    """A destination of dead letters."""

    def send(self, letters: Iterable[DeadLetter]) -> None:
        """Return once every letter is acknowledged; if some are not, raise ServerUnavailable: the caller sends all again."""


OnRefused: TypeAlias = Callable[[DeadLetter, str], None]
"""Called with a letter that its topic refuses in any form, and with the reason."""


class KafkaDeadLetters:
    """Dead letters on a Kafka topic, each acknowledged by all in-sync replicas.

    A letter that the topic refuses permanently is sent reduced. If the reduced letter is refused too, it is logged and
    counted: its message is still in the source topic, and other messages must not wait for it.
    """

    def __init__(self, topic: str, client: dict[str, Any], on_refused: OnRefused = lambda _letter, _why: None) -> None:
        self._topic = topic
        self._client = client
        self._address = str(client["bootstrap.servers"])
        self._producer = Producer(writing(client))
        self._on_refused = on_refused

    def send(self, letters: Iterable[DeadLetter]) -> None:
        refused = self._deliver(list(letters))
        if any(fault.code() == KafkaError.MSG_SIZE_TOO_LARGE for _, fault in refused):
            self._make_room({letter.message.topic for letter, _ in refused})
        reduced = [reduced_form(letter, fault.str()) for letter, fault in self._send_in_parts(refused)]
        for letter, fault in self._send_in_parts(self._deliver(reduced)):
            self._report_refused(letter, fault.str())

    def _send_in_parts(self, refused: Refusals) -> Refusals:
        """Send refused letters again in ever smaller parts, and return those that are refused individually.

        A broker refuses a whole batch for a single bad letter, or because all together are too large.
        """
        found: Refusals = []
        parts = [[letter for letter, _ in refused]] if refused else []
        while parts:
            part = parts.pop()
            again = self._deliver(part)
            if len(part) == 1:
                found += again
            elif again:
                left, middle = [letter for letter, _ in again], (len(again) + 1) // 2
                parts += [half for half in (left[:middle], left[middle:]) if half]
        return found

    def _deliver(self, letters: Iterable[DeadLetter]) -> Refusals:
        """Send letters and return those that their topic refuses; raise ServerUnavailable for temporary errors."""
        refused: Refusals = []
        faults: list[KafkaError] = []
        for letter in letters:
            self._produce(letter, refused, faults)
        unsent = self._producer.flush(DELIVERY)
        if unsent or faults:
            # Without this, queued letters would be sent in addition to their repetition.
            self._producer.purge()
            self._producer.flush(1.0)
            raise self.undelivered(faults)
        return refused

    def _produce(self, letter: DeadLetter, refused: Refusals, faults: list[KafkaError]) -> None:
        def acknowledged(fault: KafkaError | None, _: object) -> None:
            if fault is None:
                return
            if fault.code() in REFUSED:
                refused.append((letter, fault))
            else:
                faults.append(fault)

        message = letter.message
        send_message(
            self._producer,
            self._topic,
            value=message.value,
            key=message.key,
            headers=letter.headers(),
            on_delivery=acknowledged,
        )

    def _make_room(self, topics: Iterable[str]) -> None:
        """Raise the message limit of the dead-letter topic above those of the source topics."""
        for topic in topics:
            try:
                raise_message_limit(self._client, topic, self._topic)
            except ConfigError as fault:
                logger.warning("dead letters are reduced: %s", fault)

    def _report_refused(self, letter: DeadLetter, reason: str) -> None:
        source = "/".join(map(str, letter.identity))
        fields = {"source": source, "code": letter.code, "detail": letter.detail, "reason": reason}
        logger.error("a dead letter is refused by its topic", extra=fields)
        self._on_refused(letter, reason)

    def undelivered(self, faults: list[KafkaError]) -> ServerUnavailable:
        """Return the error for letters that could not be sent yet."""
        why = faults[0].str() if faults else f"no acknowledgement within {DELIVERY:.0f} s"
        if any(fault.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED for fault in faults):
            why = f"the account may not write to the topic {self._topic}: grant it WRITE there ({why})"
        return ServerUnavailable("Kafka's dead-letter topic", self._address, why)


def writing(client: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a producer for messages of any size, in order and acknowledged."""
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
    """Pass a message to the producer, waiting while its queue is full; raise ServerUnavailable if it stays full."""
    give_up = time.monotonic() + DELIVERY
    while True:
        try:
            producer.produce(topic, **message)
        except BufferError:
            if time.monotonic() > give_up:
                raise ServerUnavailable("Kafka", topic, "its producer's queue stays full") from None
            producer.poll(0.1)
        except KafkaException as fault:
            # An error about the message itself is reported like a refusal by the broker.
            if fault.args[0].code() not in REFUSED or "on_delivery" not in message:
                raise ServerUnavailable("Kafka", topic, str(fault.args[0])) from fault
            message["on_delivery"](fault.args[0], None)
            return
        else:
            producer.poll(0)
            return


Clock: TypeAlias = Callable[[], datetime]
"""Returns the current time in UTC."""


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)
