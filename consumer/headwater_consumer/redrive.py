"""Dead letters sent back to the topic they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaError, Producer

from headwater_avro.errors import ServerUnavailable

from .dead_letters import DELIVERY, REDRIVEN, DeadLetter, Identity, send_message, writing
from .messages import Headers


def redrive(
    client: dict[str, Any], letters: Iterable[DeadLetter], sent: Callable[[DeadLetter], None] = lambda _: None
) -> set[Identity]:
    """Send each letter once, as the message it was, and return which ones; raises ServerUnavailable.

    The message comes back with one header more, which names the letter: unusable again, it is still that letter. What
    the graph knows already changes nothing in it, so sending a letter twice is as good as once.
    """
    producer, faults, done = Producer(writing(client)), _Faults(), set[Identity]()
    for letter in letters:
        if letter.identity in done:
            continue
        done.add(letter.identity)
        message = letter.message
        timestamp = {"timestamp": message.timestamp} if message.timestamp > 0 else {}
        send_message(
            producer,
            message.topic,
            value=message.value,
            key=message.key,
            headers=list(marked(letter)),
            on_delivery=faults,
            **timestamp,
        )
        sent(letter)
    if producer.flush(DELIVERY) or faults.found:
        reason = faults.found[0].str() if faults.found else "some messages were not acknowledged"
        raise ServerUnavailable("Kafka", str(client["bootstrap.servers"]), f"{reason}; do the same again")
    return done


def marked(letter: DeadLetter) -> Headers:
    """Return the headers of the message, with the one that names the letter."""
    kept = tuple(header for header in letter.message.headers if header[0] != REDRIVEN)
    return (*kept, (REDRIVEN, "/".join(map(str, letter.identity)).encode()))


class _Faults:
    """What went wrong with single messages; called for each one by the producer."""

    def __init__(self) -> None:
        self.found: list[KafkaError] = []

    def __call__(self, fault: KafkaError | None, _: object) -> None:
        if fault is not None:
            self.found.append(fault)
