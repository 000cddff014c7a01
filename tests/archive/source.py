"""A topic in memory, and messages for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext

from headwater_consumer.kafka.messages import Headers, Message

DAY = 86_400_000
BEGIN = 1_767_225_600_000
"""2026-01-01 in milliseconds."""


def message(
    offset: int, partition: int = 0, timestamp: int | None = None, value: bytes | None = b"{}", **more: object
) -> Message:
    key, headers = more.get("key", b"k"), more.get("headers", ())
    time = BEGIN + offset if timestamp is None else timestamp
    return Message("events", partition, offset, time, key, value, headers)  # type: ignore[arg-type]


class GivenTopic:
    """A Topic over messages in memory; ``poll`` gives ``at_once`` of them, ``before_poll`` is called first each time."""

    def __init__(self, messages: Iterable[Message], identity: str = "id-1", at_once: int = 3) -> None:
        self.messages = {(each.partition, each.offset): each for each in messages}
        self.committed: dict[int, int] = {}
        self.before_poll: Callable[[], None] = lambda: None
        self.lows: dict[int, int] = {}
        self._identity, self._at_once = identity, at_once
        self._positions: dict[int, int] = {}

    def identity(self) -> str:
        return self._identity

    def bounds(self) -> dict[int, tuple[int, int]]:
        partitions = sorted({partition for partition, _ in self.messages})
        return {each: (self.lows.get(each, 0), self._end(each)) for each in partitions}

    def _end(self, partition: int) -> int:
        return max(offset for each, offset in self.messages if each == partition) + 1

    def since(self, timestamp: int) -> dict[int, int]:
        late = [place for place, each in self.messages.items() if each.timestamp >= timestamp]
        ends = {each: end for each, (_, end) in self.bounds().items()}
        return {each: min([o for p, o in late if p == each], default=end) for each, end in ends.items()}

    def assign(self, begins: Mapping[int, int]) -> None:
        self._positions = dict(begins)

    def poll(self, seconds: float) -> tuple[list[Message], dict[int, int]]:
        self.before_poll()
        found: list[Message] = []
        for partition, position in self._positions.items():
            offsets = sorted(o for p, o in self.messages if p == partition and o >= position)[: self._at_once]
            found += [self.messages[partition, offset] for offset in offsets]
            self._positions[partition] = offsets[-1] + 1 if offsets else position
        ended = {p: self._end(p) for p, position in self._positions.items() if position >= self._end(p)}
        return found, ended

    def commit(self, ends: Mapping[int, int]) -> None:
        self.committed = dict(ends)

    def close(self) -> None:
        self._positions = {}


def headers_of(*pairs: tuple[str, bytes | None]) -> Headers:
    return pairs


class MemoryStorage:
    """Files in a dictionary, in place of a folder or a bucket."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def names(self, topic: str) -> list[str]:
        return [name for name in self.files if name.startswith(f"{topic}/")]

    def read(self, name: str) -> bytes:
        return self.files[name]

    def write(self, name: str, content: bytes) -> None:
        self.files[name] = content

    def locked(self, topic: str) -> AbstractContextManager[None]:
        return nullcontext()
