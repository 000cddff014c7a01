"""A topic read on all its partitions at once, from given offsets, to given ends or as long as one likes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_consumer.kafka.brokers import PATIENCE, Client, away
from headwater_consumer.kafka.messages import SILENCE, Message, bounds_of, message_of, partition_numbers, reading

logger = logging.getLogger("headwater.archive")

AT_ONCE = 1_000
"""Messages taken from the client in one call."""

_DELETED = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


class Topic(Protocol):
    """What is read: positions, messages, and a word to Kafka on how far one is. Raises ServerUnavailable, ConfigError."""

    def identity(self) -> str:
        """Return what tells the topic from an earlier one of the same name."""

    def bounds(self) -> dict[int, tuple[int, int]]:
        """Return of each partition the first offset that is there and the one after the last."""

    def since(self, timestamp: int) -> dict[int, int]:
        """Return of each partition the offset of the first message of this timestamp (ms) or later, else its end."""

    def assign(self, begins: Mapping[int, int]) -> None:
        """Read these partitions from these offsets on."""

    def poll(self, seconds: float) -> tuple[list[Message], dict[int, int]]:
        """Return messages, and of each partition that was read to its end, that end."""

    def commit(self, ends: Mapping[int, int]) -> None:
        """Tell Kafka how far the group is, for people who watch its lag; a refusal is logged."""

    def close(self) -> None:
        """End the connection."""


class KafkaTopic:
    """A Topic in Kafka, read by a consumer group of its own; partitions are assigned by hand, so nobody else's join counts."""

    def __init__(self, client: Client, topic: str, group: str) -> None:
        self._client, self._topic = client, topic
        self._address = str(client["bootstrap.servers"])
        self._consumer = Consumer(reading(client) | {"group.id": group})

    def identity(self) -> str:
        admin = AdminClient(self._client)
        try:
            asked = admin.describe_topics(TopicCollection([self._topic]), request_timeout=PATIENCE)
            return str(asked[self._topic].result().topic_id)
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
        asked = [self._place(partition, timestamp) for partition in bounds]
        try:
            found = {place.partition: place.offset for place in self._consumer.offsets_for_times(asked, SILENCE)}
        except KafkaException as fault:
            raise self._fault(fault) from fault
        # A negative offset stands for the end: every message is older.
        return {partition: found[partition] if found[partition] >= 0 else end for partition, (_, end) in bounds.items()}

    def assign(self, begins: Mapping[int, int]) -> None:
        self._consumer.assign([self._place(partition, offset) for partition, offset in begins.items()])

    def poll(self, seconds: float) -> tuple[list[Message], dict[int, int]]:
        messages, ended = [], {}
        for polled in self._consumer.consume(AT_ONCE, seconds):
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
        return away(self._address, fault)


def messages_until(topic: Topic, begins: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[list[Message]]:
    """Yield the messages of each partition from its begin up to, not including, its end, as they come.

    Raises ServerUnavailable after 30 s without any.
    """
    left = {partition for partition, end in ends.items() if begins[partition] < end}
    topic.assign({partition: begins[partition] for partition in left})
    heard = time.monotonic()
    while left:
        messages, ended = topic.poll(0.5)
        if messages or ended:
            heard = time.monotonic()
        elif time.monotonic() - heard > SILENCE:
            raise ServerUnavailable("Kafka", "its address", f"no message within {SILENCE:.0f} s")
        yield [message for message in messages if message.offset < ends[message.partition]]
        left -= ended.keys()
        left -= {message.partition for message in messages if message.offset >= ends[message.partition] - 1}
