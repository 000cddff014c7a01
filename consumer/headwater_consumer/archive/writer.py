"""A topic into files: from where the files end to where the topic ends, again and again.

The files are the only state. A file is put whole or not at all, and its name tells which offsets it holds; so whoever
starts goes on after the last of them, whatever killed the one before, and nothing is kept twice or left out.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

import zstandard

from headwater_avro.errors import ConfigError
from headwater_consumer.archive.lines import line_of
from headwater_consumer.archive.parts import Gap, Part, day_of, ends, parts_of
from headwater_consumer.archive.storage import Storage
from headwater_consumer.archive.topic import Topic, messages_until
from headwater_consumer.kafka.messages import Message

logger = logging.getLogger("headwater.archive")

GROUP = "headwater-archive"
"""The consumer group, whose lag tells how far behind the archive is."""

IDENTITY = "archive.json"


@dataclass(frozen=True, slots=True)
class Rolling:
    """When a file is ended and another begun: after so many bytes of lines, or so many seconds."""

    size: int = 64_000_000
    seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class RetainedPast:
    """What was kept: messages and files, and what Kafka had deleted before it could be kept."""

    messages: int
    files: int
    gaps: tuple[Gap, ...]


class OpenPart:
    """A file under way, in memory, compressed as it grows."""

    def __init__(self, begin: int) -> None:
        self.begin = self.end = begin
        self.day = ""
        self.size = 0
        self._compressor = zstandard.ZstdCompressor(level=6, write_checksum=True).compressobj()
        self._chunks: list[bytes] = []

    def add(self, message: Message) -> None:
        line = line_of(message)
        self._chunks.append(self._compressor.compress(line))
        self.size += len(line)
        self.end = message.offset + 1
        self.day = max(self.day, day_of(message.timestamp))

    def finished(self, topic: str, partition: int) -> tuple[Part, bytes]:
        """Return the file and what is in it."""
        content = b"".join([*self._chunks, self._compressor.flush()])
        return Part(topic, partition, self.begin, self.end, self.day, sha256(content).hexdigest()), content


class Keeper:
    """Messages of a topic into files; ``kept`` tells of each partition up to where its files reach."""

    def __init__(self, storage: Storage, topic: str, begins: Mapping[int, int], rolling: Rolling) -> None:
        self.kept = dict(begins)
        self.messages = self.files = 0
        self._storage, self._topic, self._rolling = storage, topic, rolling
        self._open: dict[int, OpenPart] = {}

    def add(self, message: Message) -> None:
        """Take a message, the next one of its partition; one that was taken already is left out."""
        part = self._open.get(message.partition)
        if message.offset < (self.kept[message.partition] if part is None else part.end):
            return
        if part is not None and (day_of(message.timestamp) > part.day or part.size >= self._rolling.size):
            self._statement(message.partition, part)
            part = None
        if part is None:
            part = self._open[message.partition] = OpenPart(self.kept[message.partition])
        part.add(message)
        self.messages += 1

    def flush(self) -> None:
        """End all files under way."""
        for partition, part in list(self._open.items()):
            self._statement(partition, part)

    def _statement(self, partition: int, part: OpenPart) -> None:
        done, content = part.finished(self._topic, partition)
        self._storage.put(done.name, content)
        self.kept[partition] = done.end
        self.files += 1
        del self._open[partition]
        logger.info("kept %s", done.name)


def keep(
    topic: Topic, name: str, storage: Storage, rolling: Rolling, *, stop: threading.Event, follow: bool = True
) -> RetainedPast:
    """Keep a topic until ``stop`` is set, or, without ``follow``, up to its end of now.

    Raises ConfigError where the files are of another topic of this name, where another writer is at work, or where they
    can't be written; ServerUnavailable while Kafka or the storage is away.
    """
    with storage.held(name):
        _same_topic(storage, name, topic.identity())
        there = ends(parts_of(storage.names(name)))
        bounds = topic.bounds()
        begins, lost = _begins(name, there, bounds)
        keeper = Keeper(storage, name, begins, rolling)
        with _flushed(keeper, topic):
            if follow:
                _follow(keeper, topic, rolling, stop)
            else:
                _keep_all(keeper, messages_until(topic, begins, {p: end for p, (_, end) in bounds.items()}), stop)
    return RetainedPast(keeper.messages, keeper.files, lost)


@contextmanager
def _flushed(keeper: Keeper, topic: Topic) -> Iterator[None]:
    """End all files when leaving in order; after an error what is under way is read again next time."""
    yield
    keeper.flush()
    topic.commit(keeper.kept)


def _keep_all(keeper: Keeper, batches: Iterable[list[Message]], stop: threading.Event) -> None:
    for batch in batches:
        for message in batch:
            keeper.add(message)
        if stop.is_set():
            return


def _follow(keeper: Keeper, topic: Topic, rolling: Rolling, stop: threading.Event) -> None:
    topic.assign(keeper.kept)
    due = time.monotonic() + rolling.seconds
    while not stop.is_set():
        for message in topic.poll(0.5)[0]:
            keeper.add(message)
        if time.monotonic() >= due:
            keeper.flush()
            topic.commit(keeper.kept)
            _take_new_partitions(keeper, topic)
            due = time.monotonic() + rolling.seconds


def _take_new_partitions(keeper: Keeper, topic: Topic) -> None:
    new = {partition: low for partition, (low, _) in topic.bounds().items() if partition not in keeper.kept}
    if new:
        keeper.kept.update(new)
        topic.assign(keeper.kept)


def _same_topic(storage: Storage, name: str, identity: str) -> None:
    """Refuse files of an earlier topic of this name: its offsets mean other messages."""
    file = f"{name}/{IDENTITY}"
    if file not in storage.names(name):
        storage.put(file, json.dumps({"format": 1, "topic": name, "topicId": identity}).encode() + b"\n")
    elif (known := json.loads(storage.get(file)).get("topicId")) != identity:
        raise ConfigError(
            f"the archive holds an earlier topic {name} (id {known}, now {identity}): keep this one elsewhere"
        )


def _begins(
    name: str, there: Mapping[int, int], bounds: Mapping[int, tuple[int, int]]
) -> tuple[dict[int, int], tuple[Gap, ...]]:
    begins, lost = {}, []
    for partition, (low, high) in bounds.items():
        begins[partition] = max(there.get(partition, low), low)
        if begins[partition] > high:
            raise ConfigError(f"partition {partition} of {name} ends at {high}, the archive at {begins[partition]}")
        if there.get(partition, low) < low:
            lost.append(Gap(partition, there[partition], low))
    return begins, tuple(lost)
