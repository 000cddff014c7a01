"""The distinct dead letters of a topic, and their number by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headwater_consumer.kafka.brokers import Client
from headwater_consumer.kafka.dead_letters import DeadLetter, Identity, letters_on
from headwater_graph.queries.reports.reports import Report

NAME = "dead-letters"


def distinct_letters(client: Client, topic: str, code: str | None = None) -> Iterator[DeadLetter]:
    """Yield each dead letter once, of the given reason or of all reasons."""
    seen: set[Identity] = set()
    for _, letter in letters_on(client, topic):
        if letter.identity not in seen and code in (None, letter.code):
            seen.add(letter.identity)
            yield letter


def letter_report(client: Client, topic: str) -> Report:
    """Return the number of distinct dead letters by reason (specification 8), the most frequent first; read the topic."""
    counts = Counter(letter.code for letter in distinct_letters(client, topic))
    rows = tuple(counts.most_common())
    return Report(NAME, f"messages on {topic} that could not be used, by reason", ("code", "messages"), rows)
