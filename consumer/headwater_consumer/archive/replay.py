"""Messages to a topic again, from an archive or from a topic: the graph is a function of the set of events, so none harms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater_consumer.archive.topic import Topic, messages_until
from headwater_consumer.kafka.brokers import Client
from headwater_consumer.kafka.messages import Message
from headwater_consumer.kafka.sending import Outgoing, send_all, timestamp_of


def messages_since(topic: Topic, since: int | None = None) -> Iterator[Message]:
    """Yield what is on a topic now, of each partition from the first message of ``since`` (ms) or later on."""
    bounds = topic.bounds()
    begins = {partition: low for partition, (low, _) in bounds.items()} if since is None else topic.since(since)
    ends = {partition: high for partition, (_, high) in bounds.items()}
    for batch in messages_until(topic, begins, ends):
        yield from batch


def replay(client: Client, messages: Iterable[Message], topic: str, *, keep_times: bool = False) -> int:
    """Send messages to a topic with their keys, values and headers; return how many once all are acknowledged.

    They get the present time, for a topic that keeps messages by their age would delete old ones at once; with
    ``keep_times`` their own. Raises ServerUnavailable: then do the same again.
    """
    return send_all(client, (_outgoing(message, topic, keep_times) for message in messages))


def _outgoing(message: Message, topic: str, keep_times: bool) -> Outgoing:
    timestamp = timestamp_of(message) if keep_times else None
    return Outgoing(topic, message.key, message.value, message.headers, timestamp)
