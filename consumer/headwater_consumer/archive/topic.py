"""Read all partitions of a topic at once from given offsets, to given ends or without an end."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_consumer.kafka.brokers import REQUEST_TIMEOUT, Client, unreachable
from headwater_consumer.kafka.messages import SILENCE, Message, bounds_of, message_of, partition_numbers, reading

logger = logging.getLogger("headwater.archive")

POLL_SIZE = 1_000
"""Messages read from the client in one call."""

_DELETED = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


class Topic(Protocol):
    """A topic to read: its offsets, its messages, and commits of progress. Methods raise ServerUnavailable, ConfigError."""

    def identity(self) -> str:
        """Return the id that distinguishes the topic from an earlier topic of the same name."""

    def bounds(self) -> dict[int, tuple[int, int]]:
        """Return, by partition, the first available offset and the offset after the last."""

    def since(self, timestamp: int) -> dict[int, int]:
        """Return, by partition, the offset of the first message not older than a timestamp (ms), else the partition's end."""

    def assign(self, begins: Mapping[int, int]) -> None:
        """Read these partitions from these offsets."""

    def poll(self, seconds: float) -> tuple[list[Message], dict[int, int]]:
        """Return messages, and the end of each partition that was read to its end."""

    def commit(self, ends: Mapping[int, int]) -> None:
        """Commit offsets so that the lag of the group is visible in Kafka; a refusal is logged."""

    def close(self) -> None:
        """Close the connection."""


class KafkaTopic:
    """A Topic in Kafka; partitions are assigned explicitly, so other members of the consumer group have no effect."""

    def __init__(self, client: Client, topic: str, group: str) -> None:
        self._client, self._topic = client, topic
        self._address = str(client["bootstrap.servers"])
        self._consumer = Consumer(reading(client) | {"group.id": group})

    def identity(self) -> str:
        admin = AdminClient(self._client)
        try:
            requested = admin.describe_topics(TopicCollection([self._topic]), request_timeout=REQUEST_TIMEOUT)
            return str(requested[self._topic].result().topic_id)
        except KafkaException as fault:
            raise self._fault(fault) from fault

    def bounds(self) -> dict[int, tuple[int, int]]:
        try:
            numbers = partition_numbers(self._consumer, self._topic, self._address)
            return {number: bounds_of(self._consumer, self._place(number)) for number in numbers}
        except KafkaException as fault:
            raise self._fault(fault) from fault

    def since(self, timestamp: int) -> dict[int, int]:
        bounds = self.bounds()
        requested = [self._place(partition, timestamp) for partition in bounds]
        try:
            found = {place.partition: place.offset for place in self._consumer.offsets_for_times(requested, SILENCE)}
        except KafkaException as fault:
            raise self._fault(fault) from fault
        # A negative offset stands for the end: every message is older.
        return {partition: found[partition] if found[partition] >= 0 else end for partition, (_, end) in bounds.items()}

    def assign(self, begins: Mapping[int, int]) -> None:
        self._consumer.assign([self._place(partition, offset) for partition, offset in begins.items()])

    def poll(self, seconds: float) -> tuple[list[Message], dict[int, int]]:
        messages, ended = [], {}
        for polled in self._consumer.consume(POLL_SIZE, seconds):
            fault = polled.error()
            if fault is None:
                messages.append(message_of(polled))
            elif fault.code() == KafkaError._PARTITION_EOF:
                ended[int(polled.partition() or 0)] = int(polled.offset() or 0)
            elif fault.code() in _DELETED:
                raise ConfigError(f"Kafka has deleted messages of {self._topic} that were not read yet: start again")
            else:
                logger.warning("Kafka: %s", fault.str())
        return messages, ended

    def commit(self, ends: Mapping[int, int]) -> None:
        places = [self._place(partition, end) for partition, end in ends.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as fault:
            logger.warning("the group's offsets are not in Kafka: %s", fault.args[0])

    def close(self) -> None:
        self._consumer.close()

    def _place(self, partition: int, offset: int = 0) -> TopicPartition:
        return TopicPartition(self._topic, partition, offset)

    def _fault(self, fault: KafkaException) -> ConfigError | ServerUnavailable:
        code: Any = fault.args[0].code() if fault.args and isinstance(fault.args[0], KafkaError) else None
        if code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            return ConfigError(f"Kafka at {self._address} has no topic {self._topic}")
        return unreachable(self._client, fault)


def messages_until(topic: Topic, begins: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[list[Message]]:
    """Yield batches of messages of each partition from its begin up to, not including, its end.

    Raises ServerUnavailable after 30 s without an answer.
    """
    left = {partition for partition, end in ends.items() if begins[partition] < end}
    topic.assign({partition: begins[partition] for partition in left})
    last_answer = time.monotonic()
    while left:
        messages, ended = topic.poll(0.5)
        if messages or ended:
            last_answer = time.monotonic()
        elif time.monotonic() - last_answer > SILENCE:
            raise ServerUnavailable("Kafka", "its address", f"no message within {SILENCE:.0f} s")
        yield [message for message in messages if message.offset < ends[message.partition]]
        left -= ended.keys()
        left -= {message.partition for message in messages if message.offset >= ends[message.partition] - 1}
