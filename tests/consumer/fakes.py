"""Messages and dead letters in memory, in place of Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headwater_consumer.kafka.dead_letters import DeadLetter
from headwater_consumer.kafka.messages import Message, Position


class InMemoryMessages:
    """Messages in a dictionary, for tests."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages = {message.position: message for message in messages}

    def fetch(self, positions: Iterable[Position]) -> Iterator[Message]:
        return (self.messages[position] for position in sorted(set(positions)) if position in self.messages)

    def first(self, partition: int, begin: int, end: int) -> int | None:
        return min((offset for at, offset in self.messages if at == partition and begin <= offset < end), default=None)

    def first_message(self, partition: int, begin: int, end: int) -> Message | None:
        first = self.first(partition, begin, end)
        return None if first is None else self.messages[partition, first]


class CollectedDeadLetters:
    """A sink for tests that appends letters to a list; each of the first calls raises one of ``faults``."""

    def __init__(self, faults: Iterable[Exception] = ()) -> None:
        self.letters: list[DeadLetter] = []
        self._faults: Iterator[Exception] = iter(faults)

    def send(self, letters: Iterable[DeadLetter]) -> None:
        for fault in self._faults:
            raise fault
        self.letters.extend(letters)
