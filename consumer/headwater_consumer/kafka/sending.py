"""Messages to Kafka as they are, each acknowledged: for commands, which may wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, Producer

from headwater_avro.errors import ServerUnavailable
from headwater_consumer.kafka.brokers import Client
from headwater_consumer.kafka.dead_letters import DELIVERY, send_message, writing
from headwater_consumer.kafka.messages import Headers, Message


class Outgoing(NamedTuple):
    """What is sent where; ``timestamp`` in milliseconds, the present where it is None."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int | None


def timestamp_of(message: Message) -> int | None:
    """Return a message's own time, None where it has none."""
    return message.timestamp if message.timestamp > 0 else None


def send_all(client: Client, messages: Iterable[Outgoing]) -> int:
    """Send messages in their order and return how many once all are acknowledged; raises ServerUnavailable."""
    producer, faults = Producer(writing(client)), list[KafkaError]()
    count = 0
    for count, message in enumerate(_until_fault(messages, faults), 1):  # noqa: B007 - the number of the last is the count
        send_message(producer, message.topic, **_parameters(message), on_delivery=_noting(faults))
    if producer.flush(DELIVERY) or faults:
        reason = faults[0].str() if faults else "some messages were not acknowledged"
        raise ServerUnavailable("Kafka", str(client["bootstrap.servers"]), f"{reason}; do the same again")
    return count


def _until_fault(messages: Iterable[Outgoing], faults: list[KafkaError]) -> Iterator[Outgoing]:
    for message in messages:
        if faults:
            return
        yield message


def _parameters(message: Outgoing) -> dict[str, Any]:
    timestamp = {} if message.timestamp is None else {"timestamp": message.timestamp}
    return {"key": message.key, "value": message.value, "headers": list(message.headers), **timestamp}


def _noting(faults: list[KafkaError]) -> Any:
    def acknowledged(fault: KafkaError | None, _: object) -> None:
        if fault is not None:
            faults.append(fault)

    return acknowledged
