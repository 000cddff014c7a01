"""Send messages of an archive or of a topic to a topic again. Repeated events do not change the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater_consumer.archive.topic import Topic, messages_until
from headwater_consumer.kafka.brokers import Client
from headwater_consumer.kafka.messages import Message
from headwater_consumer.kafka.sending import Outgoing, send_all, timestamp_of


def messages_since(topic: Topic, since: int | None = None) -> Iterator[Message]:
    """Yield what is on a topic now; with ``since`` (ms), each partition from its first message not older."""
    bounds = topic.bounds()
    begins = {partition: low for partition, (low, _) in bounds.items()} if since is None else topic.since(since)
    ends = {partition: high for partition, (_, high) in bounds.items()}
    for batch in messages_until(topic, begins, ends):
        yield from batch


def replay(client: Client, messages: Iterable[Message], topic: str, *, original_timestamps: bool = False) -> int:
    """Send messages to a topic with their keys, values and headers; return how many once all are acknowledged.

    They get the current time, because a topic with a retention time would delete old messages at once; with
    ``original_timestamps`` they keep their own. Raises ServerUnavailable; the caller may then send everything again.
    """
    return send_all(client, (_outgoing(message, topic, original_timestamps) for message in messages))


def _outgoing(message: Message, topic: str, original_timestamps: bool) -> Outgoing:
    timestamp = timestamp_of(message) if original_timestamps else None
    return Outgoing(topic, message.key, message.value, message.headers, timestamp)
