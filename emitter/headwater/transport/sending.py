"""Sending given bytes and waiting for each acknowledgement: for commands, which may wait, not for jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from headwater.transport.broker import Broker, Done, Fate, Message
from headwater.transport.wire import key_of


@dataclass(slots=True)
class Outcome:
    """How many messages were acknowledged, and for those that weren't their place in the order and what Kafka said."""

    delivered: int = 0
    unavailable: list[tuple[int, str]] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


def send_all(broker: Broker, messages: Iterable[tuple[int, Message]], give_up_after: int = 1) -> Outcome:
    """Send each numbered message and wait until all have a fate; stop when Kafka was not there for so many."""
    outcome = Outcome()
    for number, message in messages:
        while not broker.send(message, _noting(outcome, number)):
            broker.poll(0.1)
        broker.poll(0)
        if len(outcome.unavailable) >= give_up_after:
            break
    while broker.in_flight():
        broker.push(0.5)
    return outcome


def _noting(outcome: Outcome, number: int) -> Done:
    def done(_: Message, fate: Fate, why: str) -> None:
        match fate:
            case "delivered":
                outcome.delivered += 1
            case "refused":
                outcome.refused.append((number, why))
            case "unavailable":
                outcome.unavailable.append((number, why))

    return done


def message_of_line(line: bytes) -> Message:
    """The line's very bytes, keyed by the event in them; unkeyed where there is none to be read."""
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Message(None, line)
    return Message(key_of(event) if isinstance(event, dict) else None, line)
