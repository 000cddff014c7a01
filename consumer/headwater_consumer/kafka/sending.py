"""Send messages unchanged to Kafka and wait until all are acknowledged; for commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, Producer

from headwater_avro.errors import ServerUnavailable
from headwater_consumer.kafka.brokers import Client
from headwater_consumer.kafka.dead_letters import DELIVERY, send_message, writing
from headwater_consumer.kafka.messages import Headers, Message


class Outgoing(NamedTuple):
    """A message and its target topic; ``timestamp`` in milliseconds, None for the current time."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int | None


def timestamp_of(message: Message) -> int | None:
    """Return the timestamp of a message, None if it has none."""
    return message.timestamp if message.timestamp > 0 else None


def send_all(client: Client, messages: Iterable[Outgoing]) -> int:
    """Send messages in order and return their number once all are acknowledged; raise ServerUnavailable."""
    producer, faults, count = Producer(writing(client)), list[KafkaError](), 0

    def acknowledged(fault: KafkaError | None, _: object) -> None:
        if fault is not None:
            faults.append(fault)

    for message in messages:
        if faults:
            break
        send_message(producer, message.topic, **_parameters(message), on_delivery=acknowledged)
        count += 1
    if producer.flush(DELIVERY) or faults:
        reason = faults[0].str() if faults else "some messages were not acknowledged"
        raise ServerUnavailable("Kafka", str(client["bootstrap.servers"]), f"{reason}; repeat the command")
    return count


def _parameters(message: Outgoing) -> dict[str, Any]:
    timestamp = {} if message.timestamp is None else {"timestamp": message.timestamp}
    return {"key": message.key, "value": message.value, "headers": list(message.headers), **timestamp}
