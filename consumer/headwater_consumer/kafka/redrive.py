"""Dead letters sent back to the topic they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headwater_consumer.kafka.dead_letters import REDRIVEN, DeadLetter, Identity
from headwater_consumer.kafka.messages import Headers
from headwater_consumer.kafka.sending import Outgoing, send_all, timestamp_of


def redrive(
    client: dict[str, Any], letters: Iterable[DeadLetter], sent: Callable[[DeadLetter], None] = lambda _: None
) -> set[Identity]:
    """Send each letter once, as the message it was, and return which ones; raises ServerUnavailable.

    The message comes back with one header more, which names the letter: unusable again, it is still that letter. What
    the graph knows already changes nothing in it, so sending a letter twice is as good as once.
    """
    done = set[Identity]()
    send_all(client, _returning(letters, done, sent))
    return done


def _returning(
    letters: Iterable[DeadLetter], done: set[Identity], sent: Callable[[DeadLetter], None]
) -> Iterator[Outgoing]:
    for letter in letters:
        if letter.identity not in done:
            done.add(letter.identity)
            message = letter.message
            yield Outgoing(message.topic, message.key, message.value, marked(letter), timestamp_of(message))
            sent(letter)


def marked(letter: DeadLetter) -> Headers:
    """Return the headers of the message, with the one that names the letter."""
    kept = tuple(header for header in letter.message.headers if header[0] != REDRIVEN)
    return (*kept, (REDRIVEN, "/".join(map(str, letter.identity)).encode()))
