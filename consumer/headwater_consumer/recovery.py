"""Find the messages that the checkpoint counts as done and that are not in the graph (specification 11).

Theory of operation: two places record progress, and they are not updated atomically. Spark's checkpoint contains the offsets
from which the stream continues; it is updated when a batch is handed over to the writer. The graph contains its committed
offsets, written in the same transaction as the last data of a batch. So the invariant is: every message before the graph's
committed offsets is in the graph or among the dead letters. Nothing of the kind holds for the checkpoint, which is ahead of
the graph if a consumer was killed between the two, or if the graph was restored from an older copy or is new.

A consumer that starts therefore reads the ranges between the graph's offsets and the checkpoint's offsets before the stream
continues (``missing_ranges``). Reading too much is safe, since repeated events do not change the graph; reading too little
is not. The graph's offsets may come from a consumer with another checkpoint, so unless the graph also names the checkpoint's
last batch as done, that batch is read again as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from py4j.protocol import Py4JJavaError

from headwater_avro.errors import ConfigError, HeadwaterError
from headwater_consumer.kafka.messages import Messages
from headwater_graph.apply.batch_writer import batch_identity
from headwater_graph.store.writer_node import CommittedOffsets, Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OffsetRanges: TypeAlias = dict[int, tuple[int, int]]
"""{partition: (first offset, offset after the last)} of a topic."""

SET_ASIDE = "set-aside-"
"""Prefix of the folders into which an unusable checkpoint is moved."""


class CheckpointDamaged(HeadwaterError):
    """A file of the checkpoint is missing or truncated, as after a full disk or a power failure."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The offsets at which a query began and from which it continues; ``batch``, its last done batch, began at ``before``."""

    begun: Offsets = field(default_factory=dict)
    before: Offsets = field(default_factory=dict)
    committed: Offsets = field(default_factory=dict)
    query: str = ""
    batch: int = -1


class _Metadata(msgspec.Struct):
    id: str


def read_checkpoint(spark: SparkSession, path: str) -> Checkpoint:
    """Return the content of Spark's checkpoint, an empty ``Checkpoint`` if there is none. Raises CheckpointDamaged."""
    files = _Files(spark, path)
    try:
        return _read(files)
    except (msgspec.DecodeError, IndexError) as fault:
        raise CheckpointDamaged(f"a file of the checkpoint {path} is truncated: {fault}") from fault
    except Py4JJavaError as fault:
        if _class_of(fault) not in _DAMAGED:
            raise
        raise CheckpointDamaged(f"a file of the checkpoint {path} can't be read: {_class_of(fault)}") from fault


_DAMAGED = ("ChecksumException", "EOFException", "FileNotFoundException")


def _class_of(fault: Py4JJavaError) -> str:
    return str(fault.java_exception.getClass().getSimpleName())


def _read(files: _Files) -> Checkpoint:
    planned, committed = (files.numbers(folder) for folder in ("offsets", "commits"))
    # Spark starts with the last file of either folder, and fails if it is truncated.
    if planned:
        _planned(files, planned[-1])
    if not committed:
        return Checkpoint()
    batch = committed[-1]
    msgspec.json.decode(files.text(f"commits/{batch}").splitlines()[1])
    # The file has a byte for old versions of Spark, the version of the log, and the offsets.
    begun = _offsets(files.text("sources/0/0").rpartition("\n")[2])
    before = _planned(files, batch - 1) if batch else begun
    query = msgspec.json.decode(files.text("metadata"), type=_Metadata).id
    return Checkpoint(begun, before, _planned(files, batch), query, batch)


def planned_ranges(spark: SparkSession, path: str, topic: str, batch: int) -> OffsetRanges:
    """Return the offsets of a topic that Spark has planned for a batch, as its checkpoint says before the batch is read."""
    files = _Files(spark, path)
    begun = _offsets(files.text("sources/0/0").rpartition("\n")[2]).get(topic, {})
    before = _planned(files, batch - 1).get(topic, {}) if batch else begun
    found = {at: (before.get(at, begun.get(at, 0)), end) for at, end in _planned(files, batch).get(topic, {}).items()}
    return {partition: (begin, end) for partition, (begin, end) in found.items() if begin < end}


def _planned(files: _Files, batch: int) -> Offsets:
    # The file has the version of the log, the state of the query, and the offsets of its only source.
    return _offsets(files.text(f"offsets/{batch}").splitlines()[2])


def _offsets(text: str) -> Offsets:
    return msgspec.json.decode(text, type=Offsets)


def holds_checkpoint(spark: SparkSession, path: str) -> bool:
    """Return whether there is a checkpoint, or a part of one."""
    return bool(_parts(_Files(spark, path)))


def set_aside(spark: SparkSession, path: str, now: datetime) -> str:
    """Move a checkpoint into a folder inside its own, so that the next query starts without it; return that folder's name.

    The offsets are moved first: if this is interrupted, the rest of the checkpoint is recognised as damaged.
    """
    files = _Files(spark, path)
    folder = f"{SET_ASIDE}{now:%Y%m%dT%H%M%S%f}"
    for name in sorted(_parts(files), key=lambda name: (name != "offsets", name == "metadata", name)):
        files.move(name, folder)
    return folder


def _parts(files: _Files) -> list[str]:
    return [name for name in files.names("") if not name.startswith(SET_ASIDE)]


class _Files:
    """The files of a checkpoint, accessed by Spark's own file systems."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._java: Any = spark._jvm
        self._conf = spark._jsc.hadoopConfiguration()
        self._root = root

    def _at(self, path: str) -> tuple[Any, Any]:
        found = self._java.org.apache.hadoop.fs.Path(f"{self._root}/{path}")
        return found.getFileSystem(self._conf), found

    def names(self, folder: str) -> list[str]:
        system, path = self._at(folder)
        return [file.getPath().getName() for file in system.listStatus(path)] if system.exists(path) else []

    def numbers(self, folder: str) -> list[int]:
        """Return the numbers of the batches that have a file in a folder, in ascending order."""
        return sorted(int(name) for name in self.names(folder) if name.isdecimal())

    def text(self, path: str) -> str:
        system, found = self._at(path)
        stream = system.open(found)
        try:
            return str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def move(self, name: str, folder: str) -> None:
        """Move a file or folder into another folder; raise ConfigError if that is not possible."""
        (system, found), (_, target) = self._at(name), self._at(folder)
        if not (system.mkdirs(target) and system.rename(found, self._at(f"{folder}/{name}")[1])):
            raise ConfigError(f"the checkpoint {self._root} can't be moved away: delete it and start again")


def missing_ranges(topic: str, committed: CommittedOffsets, checkpoint: Checkpoint, messages: Messages) -> OffsetRanges:
    """Return the ranges of offsets that the checkpoint counts as done and that may be missing in the graph.

    A partition that the graph does not name is missing completely. Unless the graph names the last batch as done, that batch
    is missing, whatever the offsets, because another consumer with its own checkpoint may have written them. Offsets without
    a message, as transactions leave them, are not missing; nor are messages that Kafka has deleted, which
    ``headwater_consumer.losses`` handles.
    """
    is_done = committed.done == batch_identity(checkpoint.query, checkpoint.batch)
    needed = _needed(topic, committed, checkpoint, is_trusted=is_done)
    found: OffsetRanges = {}
    for partition, end in sorted(checkpoint.committed.get(topic, {}).items()):
        begin = needed[partition]
        first = messages.first(partition, begin, end) if begin < end else None
        if first is not None:
            found[partition] = (first, end)
    return found


def first_needed(topic: str, committed: CommittedOffsets, checkpoint: Checkpoint) -> dict[int, int]:
    """Return, by partition that the graph or the checkpoint names, the first offset that is not in the graph.

    Offsets committed by a consumer with this checkpoint are reliable. Those committed by another consumer do not show that
    the last batch of this checkpoint is in the graph.
    """
    query, _, number = committed.done.rpartition("/")
    if checkpoint.batch < 0 or query != checkpoint.query:
        return _needed(topic, committed, checkpoint, is_trusted=checkpoint.batch < 0)
    # A batch may end with offsets without a message, which only the checkpoint contains.
    last = {0: checkpoint.committed, 1: checkpoint.before}.get(max(checkpoint.batch - int(number), 0), {}).get(
        topic, {}
    )
    needed = _needed(topic, committed, checkpoint, is_trusted=True)
    return {partition: max(begin, last.get(partition, begin)) for partition, begin in needed.items()}


def _needed(topic: str, committed: CommittedOffsets, checkpoint: Checkpoint, *, is_trusted: bool) -> dict[int, int]:
    written, begun, before = (
        offsets.get(topic, {}) for offsets in (committed.offsets, checkpoint.begun, checkpoint.before)
    )
    needed = dict(written)
    for partition in checkpoint.committed.get(topic, {}):
        origin = begun.get(partition, 0)
        begin = written.get(partition, origin)
        needed[partition] = begin if is_trusted else min(begin, before.get(partition, origin))
    return needed


def not_done(ranges: OffsetRanges, topic: str, committed: CommittedOffsets, query: str, batch: int) -> OffsetRanges:
    """Return what of a batch's ranges the graph lacks, at least one offset, since the batch ends with its last part.

    The parts of a batch before the last name the batch before it as done, with offsets in these ranges. Other offsets are
    those of another consumer and do not show what of this batch is in the graph.
    """
    if committed.done != batch_identity(query, batch - 1):
        return ranges
    done = committed.offsets.get(topic, {})
    parts = {at: done[at] if begin <= done.get(at, -1) <= end else begin for at, (begin, end) in ranges.items()}
    found = {at: (parts[at], end) for at, (_, end) in ranges.items() if parts[at] < end}
    return found or {partition: (end - 1, end) for partition, (_, end) in sorted(ranges.items())[:1]}


def portions(ranges: Mapping[int, tuple[int, int]], at_once: int) -> Iterator[OffsetRanges]:
    """Divide ranges into portions of about ``at_once`` offsets, each with an equal share of every partition.

    The messages of a portion then have similar times in all partitions.
    """
    parts = -(-sum(end - begin for begin, end in ranges.values()) // at_once)
    for part in range(parts):
        shares = {
            partition: (begin + (end - begin) * part // parts, begin + (end - begin) * (part + 1) // parts)
            for partition, (begin, end) in ranges.items()
        }
        yield {partition: share for partition, share in shares.items() if share[0] < share[1]}
