"""Messages of the source topic, read by their position.

The stream reads the topic through Spark. The driver fetches by position only messages that it needs completely again: those
that the graph refused, dead letters that are too large to pass through Spark's memory, and messages that are read one by one
because Spark ran out of memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby
from typing import Any, Protocol, TypeAlias

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from headwater_avro.errors import ConfigError, ServerUnavailable

Position: TypeAlias = tuple[int, int]
"""Partition and offset of a message in the source topic."""

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""The headers of a message in their order; names may repeat, values may be null."""

READ_THROUGH = 500
"""Up to this distance between two offsets, reading on is cheaper than seeking."""

SILENCE = 30.0
"""Seconds without an answer after which the broker counts as unavailable."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message as the broker stores it; ``timestamp`` in milliseconds since 1970, -1 if it has none."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def position(self) -> Position:
        return (self.partition, self.offset)


class Messages(Protocol):
    """A source from which messages can be read again."""

    def fetch(self, positions: Iterable[Position]) -> Iterator[Message]:
        """Yield the messages at these positions, by partition and offset; deleted messages are left out.

        Raises ServerUnavailable if the broker does not answer.
        """

    def first(self, partition: int, begin: int, end: int) -> int | None:
        """Return the offset of the first message from ``begin`` to before ``end``; None if there is none."""

    def first_message(self, partition: int, begin: int, end: int) -> Message | None:
        """Return the first message from ``begin`` to before ``end``; None if there is none. Raises ServerUnavailable."""


class KafkaMessages:
    """Messages fetched by a consumer without a group that commits nothing."""

    def __init__(self, topic: str, client: dict[str, Any]) -> None:
        self._topic = topic
        self._client = client

    def fetch(self, positions: Iterable[Position]) -> Iterator[Message]:
        wanted = sorted(set(positions))
        if not wanted:
            return
        with closing(Consumer(reading(self._client))) as consumer:
            for group in _groups(wanted):
                yield from self._read(consumer, group)

    def first(self, partition: int, begin: int, end: int) -> int | None:
        message = self.first_message(partition, begin, end)
        return None if message is None else message.offset

    def first_message(self, partition: int, begin: int, end: int) -> Message | None:
        consumer = Consumer(reading(self._client))
        try:
            earliest, _ = bounds_of(consumer, TopicPartition(self._topic, partition))
            consumer.assign([TopicPartition(self._topic, partition, max(begin, earliest))])
            message = _next(consumer, self._client)
        except KafkaException as fault:
            # The topic was created again with fewer partitions, which Spark reports.
            if fault.args[0].code() == KafkaError._UNKNOWN_PARTITION:
                return None
            raise ServerUnavailable("Kafka", self._client["bootstrap.servers"], fault.args[0].str()) from fault
        finally:
            consumer.close()
        return message if message is not None and message.offset < end else None

    def _read(self, consumer: Consumer, positions: list[Position]) -> Iterator[Message]:
        missing = set(positions)
        consumer.assign([TopicPartition(self._topic, *positions[0])])
        while missing:
            message = _next(consumer, self._client)
            if message is None or message.position > positions[-1]:
                return
            if message.position in missing:
                missing.discard(message.position)
                yield message


def reading(client: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a consumer that reads assigned partitions to their ends, with messages of any size."""
    return client | {
        "group.id": "headwater-reader",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "receive.message.max.bytes": 2_000_000_000,
        "fetch.max.bytes": 1_000_000_000,
        "queued.max.messages.kbytes": 65_536,
    }


def message_of(polled: KafkaMessage) -> Message:
    """Return a polled message as a value."""
    topic, partition, offset = polled.topic(), polled.partition(), polled.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    headers = tuple((header[0], _octets(header[1])) for header in polled.headers() or ())
    return Message(
        topic, partition, offset, polled.timestamp()[1], _octets(polled.key()), _octets(polled.value()), headers
    )


def _octets(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _groups(positions: list[Position]) -> Iterator[list[Position]]:
    """Yield groups of positions that are near enough to each other to be read without a seek."""
    for _, in_partition in groupby(positions, key=lambda position: position[0]):
        group: list[Position] = []
        for position in in_partition:
            if group and position[1] - group[-1][1] > READ_THROUGH:
                yield group
                group = []
            group.append(position)
        yield group


_END_OF_PARTITION = (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


def messages_on(client: dict[str, Any], topic: str) -> Iterator[Message]:
    """Yield every message that is on a topic now, partition by partition; raise ServerUnavailable.

    The end is read first, so this returns even while the topic is written to.
    """
    consumer = Consumer(reading(client))
    address = str(client["bootstrap.servers"])
    try:
        for partition in partition_numbers(consumer, topic, address):
            place = TopicPartition(topic, partition)
            first, end = bounds_of(consumer, place)
            consumer.assign([TopicPartition(topic, partition, first)])
            yield from _until(consumer, end, client) if end > first else ()
    except KafkaException as fault:
        raise ServerUnavailable("Kafka", address, str(fault.args[0])) from fault
    finally:
        consumer.close()


def partition_numbers(consumer: Consumer, topic: str, address: str) -> list[int]:
    """Return the partitions of a topic; raise ConfigError if there is no such topic, KafkaException."""
    found = consumer.list_topics(topic, timeout=SILENCE).topics[topic]
    if found.error is not None:
        raise ConfigError(f"Kafka at {address} has no topic {topic}")
    return sorted(found.partitions)


def bounds_of(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    """Return the first offset of a partition and the offset after its last; raise KafkaException.

    The request is repeated while the partition has no leader, as after its creation or a move.
    """
    give_up = time.monotonic() + SILENCE
    while True:
        try:
            first, end = consumer.get_watermark_offsets(place, timeout=SILENCE)
        except KafkaException as fault:
            if fault.args[0].code() not in _WITHOUT_LEADER or time.monotonic() > give_up:
                raise
            time.sleep(0.1)
        else:
            return first, end


_WITHOUT_LEADER = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


def _until(consumer: Consumer, end: int, client: dict[str, Any]) -> Iterator[Message]:
    while (message := _next(consumer, client)) is not None:
        yield message
        if message.offset >= end - 1:
            return


def _next(consumer: Consumer, client: dict[str, Any]) -> Message | None:
    """Return the next message of the assigned partition, None at its end or if its first offset is not available."""
    polled = consumer.poll(SILENCE)
    if polled is None:
        raise ServerUnavailable("Kafka", client["bootstrap.servers"], f"no answer within {SILENCE:.0f} s")
    fault = polled.error()
    if fault is None:
        return message_of(polled)
    if fault.code() in _END_OF_PARTITION:
        return None
    raise ServerUnavailable("Kafka", client["bootstrap.servers"], fault.str())
