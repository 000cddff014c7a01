"""Write a topic into files, continuing where the existing files end.

Theory of operation: the files are the only state. Storage makes a file visible completely or not at all, and its name
contains the partition and the range of offsets in it. The greatest end of a partition's files is therefore exactly the
number up to which its messages are archived. Every writer reads the names first and continues from these ends, so a
message is archived once and none is left out, however the previous writer ended. The messages of a file that is not yet
written are lost with the process, but their offsets are not in any name, so the next writer reads them again. Offsets
committed to Kafka serve only to show the lag.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Mapping
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
"""The consumer group whose lag shows how far the archive is behind the topic."""

IDENTITY = "archive.json"


@dataclass(frozen=True, slots=True)
class Rolling:
    """Limits of one file: bytes of lines, and seconds until it is written."""

    size: int = 64_000_000
    seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """Counts of archived messages and files, and the offsets that Kafka had deleted before they could be archived."""

    messages: int
    files: int
    gaps: tuple[Gap, ...]


class OpenPart:
    """A file that is not complete yet, compressed in memory."""

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
        """Return the complete file and its content."""
        content = b"".join([*self._chunks, self._compressor.flush()])
        return Part(topic, partition, self.begin, self.end, self.day, sha256(content).hexdigest()), content


class ArchiveWriter:
    """Writes messages of a topic into files; ``reached`` is, by partition, the offset after the last archived message."""

    def __init__(self, storage: Storage, topic: str, begins: Mapping[int, int], rolling: Rolling) -> None:
        self.reached = dict(begins)
        self.messages = self.files = 0
        self._storage, self._topic, self._rolling = storage, topic, rolling
        self._open: dict[int, OpenPart] = {}

    def add(self, message: Message) -> None:
        """Add the next message of a partition; a message that was added already is skipped."""
        part = self._open.get(message.partition)
        if message.offset < (self.reached[message.partition] if part is None else part.end):
            return
        if part is not None and (day_of(message.timestamp) > part.day or part.size >= self._rolling.size):
            self._write_part(message.partition, part)
            part = None
        if part is None:
            part = self._open[message.partition] = OpenPart(self.reached[message.partition])
        part.add(message)
        self.messages += 1

    def flush(self) -> None:
        """Write all incomplete files."""
        for partition, part in list(self._open.items()):
            self._write_part(partition, part)

    def _write_part(self, partition: int, part: OpenPart) -> None:
        done, content = part.finished(self._topic, partition)
        self._storage.write(done.name, content)
        self.reached[partition] = done.end
        self.files += 1
        del self._open[partition]
        logger.info("archived %s", done.name)


def archive_topic(
    topic: Topic, name: str, storage: Storage, rolling: Rolling, *, stop: threading.Event, follow: bool = True
) -> ArchiveResult:
    """Archive a topic until ``stop`` is set or, without ``follow``, up to its current end.

    Raises ConfigError if the files belong to an earlier topic of this name, if another writer is active, or if the files
    can't be written; ServerUnavailable if Kafka or the storage does not answer.
    """
    with storage.locked(name):
        _same_topic(storage, name, topic.identity())
        archived_ends = ends(parts_of(storage.names(name)))
        bounds = topic.bounds()
        begins, gaps = _begins(name, archived_ends, bounds)
        writer = ArchiveWriter(storage, name, begins, rolling)
        if follow:
            _follow(writer, topic, rolling, stop)
        else:
            _write_batches(writer, messages_until(topic, begins, {p: end for p, (_, end) in bounds.items()}), stop)
        # After an error the next writer reads the messages of incomplete files again.
        _flush(writer, topic)
    return ArchiveResult(writer.messages, writer.files, gaps)


def _flush(writer: ArchiveWriter, topic: Topic) -> None:
    """Write all incomplete files, and commit what is archived."""
    writer.flush()
    topic.commit(writer.reached)


def _write_batches(writer: ArchiveWriter, batches: Iterable[list[Message]], stop: threading.Event) -> None:
    for batch in batches:
        for message in batch:
            writer.add(message)
        if stop.is_set():
            return


def _follow(writer: ArchiveWriter, topic: Topic, rolling: Rolling, stop: threading.Event) -> None:
    topic.assign(writer.reached)
    due = time.monotonic() + rolling.seconds
    while not stop.is_set():
        for message in topic.poll(0.5)[0]:
            writer.add(message)
        if time.monotonic() >= due:
            _flush(writer, topic)
            _take_new_partitions(writer, topic)
            due = time.monotonic() + rolling.seconds


def _take_new_partitions(writer: ArchiveWriter, topic: Topic) -> None:
    new = {partition: low for partition, (low, _) in topic.bounds().items() if partition not in writer.reached}
    if new:
        writer.reached.update(new)
        topic.assign(writer.reached)


def _same_topic(storage: Storage, name: str, identity: str) -> None:
    """Raise ConfigError if the files belong to an earlier topic of this name, whose offsets mean other messages."""
    file = f"{name}/{IDENTITY}"
    if file not in storage.names(name):
        storage.write(file, json.dumps({"format": 1, "topic": name, "topicId": identity}).encode() + b"\n")
    elif (known := json.loads(storage.read(file)).get("topicId")) != identity:
        raise ConfigError(
            f"the archive holds an earlier topic {name} (id {known}, now {identity}): archive this topic elsewhere"
        )


def _begins(
    name: str, archived_ends: Mapping[int, int], bounds: Mapping[int, tuple[int, int]]
) -> tuple[dict[int, int], tuple[Gap, ...]]:
    begins, gaps = {}, []
    for partition, (low, high) in bounds.items():
        begins[partition] = max(archived_ends.get(partition, low), low)
        if begins[partition] > high:
            raise ConfigError(f"partition {partition} of {name} ends at {high}, the archive at {begins[partition]}")
        if archived_ends.get(partition, low) < low:
            gaps.append(Gap(partition, archived_ends[partition], low))
    return begins, tuple(gaps)
