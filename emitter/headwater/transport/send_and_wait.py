"""Sending given bytes and waiting for each acknowledgement: for commands, which may wait, not for jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from .broker import Broker, Done, Message
from .kafka_errors import DeliveryStatus
from .wire import key_of

Place = TypeVar("Place")
"""What identifies a message in the input, such as its number."""


@dataclass(slots=True)
class Outcome(Generic[Place]):
    """The number of acknowledged messages; for the others their place in the input and Kafka's reason."""

    delivered: int = 0
    unavailable: list[tuple[Place, str]] = field(default_factory=list)
    refused: list[tuple[Place, str]] = field(default_factory=list)


def send_all(broker: Broker, messages: Iterable[tuple[Place, Message]]) -> Outcome[Place]:
    """Send each message and wait until all have a status; stop after the first that is unavailable."""
    outcome: Outcome[Place] = Outcome()
    for place, message in messages:
        while not broker.send(message, _recorder(outcome, place)):
            broker.poll(0.1)
        broker.poll(0)
        if outcome.unavailable:
            break
    while broker.in_flight():
        broker.push(0.5)
    return outcome


def _recorder(outcome: Outcome[Place], place: Place) -> Done:
    def done(_: Message, status: DeliveryStatus, reason: str) -> None:
        match status:
            case "delivered":
                outcome.delivered += 1
            case "refused":
                outcome.refused.append((place, reason))
            case "unavailable":
                outcome.unavailable.append((place, reason))

    return done


def message_of_line(line: bytes) -> Message:
    """Return a message with the line's bytes and the key of its event; without a key if the line is not an event."""
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Message(None, line)
    return Message(key_of(event) if isinstance(event, dict) else None, line)
