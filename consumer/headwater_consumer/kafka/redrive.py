"""Dead letters sent back to the topic they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any

from headwater_consumer.kafka.dead_letters import REDRIVEN, DeadLetter, Identity
from headwater_consumer.kafka.messages import Headers, KafkaMessages, Message
from headwater_consumer.kafka.sending import Outgoing, send_all


def redrive(
    client: dict[str, Any],
    letters: Iterable[DeadLetter],
    sent: Callable[[DeadLetter], None] = lambda _: None,
    gone: Callable[[DeadLetter], None] = lambda _: None,
) -> set[Identity]:
    """Send each letter once, as the message it was, and return which ones; raises ServerUnavailable.

    The message comes back with one header more, which names the letter: unusable again, it is still that letter. What
    the graph knows already changes nothing in it, so sending a letter twice is as good as once. It gets the present time:
    Kafka refuses a time in the future and deletes messages that have an old one. A reduced letter is fetched from where it
    came from; ``gone`` is called with one that is not there any more.
    """
    done = set[Identity]()
    send_all(client, _returning(client, letters, done, sent, gone))
    return done


def _returning(
    client: dict[str, Any],
    letters: Iterable[DeadLetter],
    done: set[Identity],
    sent: Callable[[DeadLetter], None],
    gone: Callable[[DeadLetter], None],
) -> Iterator[Outgoing]:
    for letter in letters:
        if letter.identity in done:
            continue
        message = whole_message(client, letter)
        if message is None:
            gone(letter)
            continue
        done.add(letter.identity)
        yield Outgoing(message.topic, message.key, message.value, marked(letter, message.headers), None)
        sent(letter)


def whole_message(client: dict[str, Any], letter: DeadLetter) -> Message | None:
    """Return the message that a letter was, fetched from its topic where the letter is reduced.

    None where Kafka has it no more, or has another one at its place. Raises ServerUnavailable.
    """
    message = letter.message
    if letter.reduced is None:
        return message
    found = next(KafkaMessages(message.topic, client).fetch([message.position]), None)
    if found is None or sha256(found.value or b"").hexdigest() != letter.reduced.sha256:
        return None
    return found


def marked(letter: DeadLetter, headers: Headers) -> Headers:
    """Return the headers of the letter's message, with the one that names the letter."""
    kept = tuple(header for header in headers if header[0] != REDRIVEN)
    return (*kept, (REDRIVEN, "/".join(map(str, letter.identity)).encode()))
