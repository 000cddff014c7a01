"""Read the messages of an archive, all partitions merged approximately by time, and check its files."""

from __future__ import annotations

import heapq
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter

import zstandard

from headwater_avro.errors import ConfigError
from headwater_consumer.archive.lines import Damaged, message_of
from headwater_consumer.archive.parts import Part, day_of, gaps, parts_of
from headwater_consumer.archive.storage import Storage
from headwater_consumer.kafka.messages import Message


@dataclass(frozen=True, slots=True)
class ArchiveCheck:
    """The result of a check: counts, and one sentence for each fault."""

    files: int
    messages: int
    faults: tuple[str, ...]


def messages_in(storage: Storage, topic: str, since: int | None = None) -> Iterator[Message]:
    """Yield each message of an archive once; with ``since`` (ms), each partition from its first message not older.

    Raises ConfigError if the archive does not have the topic, Damaged if the content of a file has changed.
    """
    parts = parts_of(storage.names(topic))
    if not parts:
        raise ConfigError(f"the archive has no topic {topic}")
    streams = [_partition(storage, listed, since) for _, listed in sorted(parts.items())]
    yield from heapq.merge(*streams, key=attrgetter("timestamp"))


def _partition(storage: Storage, parts: Sequence[Part], since: int | None) -> Iterator[Message]:
    """Yield the messages of one partition by offset; a message that two writers have archived comes once."""
    reached, begun = 0, since is None
    for part in parts:
        # The day of a file is that of its latest message.
        if part.end <= reached or (not begun and since is not None and part.day < day_of(since)):
            continue
        for message in messages_of(storage, part):
            begun = begun or (since is not None and message.timestamp >= since)
            if begun and message.offset >= reached:
                yield message
            reached = max(reached, message.offset + 1)


def messages_of(storage: Storage, part: Part) -> Iterator[Message]:
    """Yield the messages of one file; raise Damaged if its checksum or its content does not match its name."""
    content = storage.read(part.name)
    if sha256(content).hexdigest() != part.digest:
        raise Damaged(f"{part.name} is damaged: its checksum is {sha256(content).hexdigest()}")
    reached = part.begin
    try:
        for line in io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(content)):
            message = message_of(part.topic, line)
            if message.partition != part.partition or not reached <= message.offset < part.end:
                raise Damaged(f"{part.name} holds a message of partition {message.partition}, offset {message.offset}")
            reached = message.offset + 1
            yield message
    except zstandard.ZstdError as fault:
        raise Damaged(f"{part.name} is damaged: {fault}") from fault


def check_archive(storage: Storage, topic: str) -> ArchiveCheck:
    """Read every file of a topic; return counts, damaged files, and the offsets that are missing between files."""
    parts = parts_of(storage.names(topic))
    faults = [f"partition {gap.partition}: offsets {gap.begin} to {gap.end - 1} are in no file" for gap in gaps(parts)]
    messages = files = 0
    for part in (part for listed in parts.values() for part in listed):
        files += 1
        try:
            messages += sum(1 for _ in messages_of(storage, part))
        except Damaged as fault:
            faults.append(str(fault))
    return ArchiveCheck(files, messages, tuple(faults))
