"""Redrive: dead letters sent back to their source topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from headwater_consumer.kafka.dead_letter_report import distinct_letters
from headwater_consumer.kafka.dead_letters import REDRIVEN, DeadLetter, Identity
from headwater_consumer.kafka.messages import Headers, KafkaMessages, Message
from headwater_consumer.kafka.sending import Outgoing, send_all


@dataclass(frozen=True, slots=True)
class Redriven:
    """Which letters were sent back, and which can't be because Kafka has deleted their messages."""

    sent: frozenset[Identity]
    deleted: frozenset[Identity]


def redrive_chosen(client: dict[str, Any], topic: str, code: str | None, wanted: Collection[Identity]) -> Redriven:
    """Send back the distinct letters on a topic of one reason (None: of all) and, if any are ``wanted``, only those.

    Raises ServerUnavailable.
    """
    deleted = set[Identity]()
    chosen = (letter for letter in distinct_letters(client, topic, code) if not wanted or letter.identity in wanted)
    sent = redrive(client, chosen, missing=lambda letter: deleted.add(letter.identity))
    return Redriven(frozenset(sent), frozenset(deleted))


def redrive(
    client: dict[str, Any],
    letters: Iterable[DeadLetter],
    missing: Callable[[DeadLetter], None] = lambda _: None,
) -> set[Identity]:
    """Send the original message of each letter once, and return the identities of the letters; raise ServerUnavailable.

    The message gets an additional header with the letter's identity, so that it remains the same letter if it is rejected
    again. Repeated events do not change the graph, so a letter may be sent twice. The message gets the current time, because
    Kafka refuses times in the future and deletes messages with old times. The message of a reduced letter is fetched from
    its source topic; ``missing`` is called with a letter whose message is not there any more.
    """
    done = set[Identity]()
    send_all(client, _outgoing(client, letters, done, missing))
    return done


def _outgoing(
    client: dict[str, Any],
    letters: Iterable[DeadLetter],
    done: set[Identity],
    missing: Callable[[DeadLetter], None],
) -> Iterator[Outgoing]:
    for letter in letters:
        if letter.identity in done:
            continue
        message = whole_message(client, letter)
        if message is None:
            missing(letter)
            continue
        done.add(letter.identity)
        yield Outgoing(message.topic, message.key, message.value, headers_with_identity(letter, message.headers), None)


def whole_message(client: dict[str, Any], letter: DeadLetter) -> Message | None:
    """Return the original message of a letter; that of a reduced letter is fetched from its topic.

    None if Kafka has deleted it or has another message at its position. Raises ServerUnavailable.
    """
    message = letter.message
    if letter.reduced is None:
        return message
    found = next(KafkaMessages(message.topic, client).fetch([message.position]), None)
    if found is None or sha256(found.value or b"").hexdigest() != letter.reduced.sha256:
        return None
    return found


def headers_with_identity(letter: DeadLetter, headers: Headers) -> Headers:
    """Return the headers of the letter's message, with the letter's identity as the last."""
    others = tuple(header for header in headers if header[0] != REDRIVEN)
    return (*others, (REDRIVEN, "/".join(map(str, letter.identity)).encode()))
