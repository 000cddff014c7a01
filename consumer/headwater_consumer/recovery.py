"""What the graph lacks of what the checkpoint counts as done, so that it is read again before the stream goes on (specification 11).

The graph says up to which offsets messages are in it, the checkpoint from which ones the stream goes on. What lies between
the two was handed over and not written when a consumer was killed, or the graph was restored from an older copy, or is new.
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
"""How the folders begin into which a checkpoint is moved that is not to be used any more."""


class CheckpointDamaged(HeadwaterError):
    """A file of the checkpoint is missing or torn, as a full disk or a power failure leaves it."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """From which offsets a query began, and from which it goes on; ``batch`` its last that counts as done, from ``before`` on."""

    begun: Offsets = field(default_factory=dict)
    before: Offsets = field(default_factory=dict)
    committed: Offsets = field(default_factory=dict)
    query: str = ""
    batch: int = -1


class _Metadata(msgspec.Struct):
    id: str


def read_checkpoint(spark: SparkSession, path: str) -> Checkpoint:
    """Return what Spark's checkpoint says; nothing where there is none. Raises CheckpointDamaged."""
    files = _Files(spark, path)
    try:
        return _read(files)
    except (msgspec.DecodeError, IndexError) as fault:
        raise CheckpointDamaged(f"a file of the checkpoint {path} is torn: {fault}") from fault
    except Py4JJavaError as fault:
        if _class_of(fault) not in _DAMAGED:
            raise
        raise CheckpointDamaged(f"a file of the checkpoint {path} can't be read: {_class_of(fault)}") from fault


_DAMAGED = ("ChecksumException", "EOFException", "FileNotFoundException")


def _class_of(fault: Py4JJavaError) -> str:
    return str(fault.java_exception.getClass().getSimpleName())


def _read(files: _Files) -> Checkpoint:
    planned, committed = (files.numbers(folder) for folder in ("offsets", "commits"))
    # Spark begins with the last of either: it fails where one is torn.
    if planned:
        _planned(files, planned[-1])
    if not committed:
        return Checkpoint()
    batch = committed[-1]
    msgspec.json.decode(files.text(f"commits/{batch}").splitlines()[1])
    # A byte that old versions of Spark want, the version of the log, and the offsets.
    begun = _offsets(files.text("sources/0/0").rpartition("\n")[2])
    before = _planned(files, batch - 1) if batch else begun
    query = msgspec.json.decode(files.text("metadata"), type=_Metadata).id
    return Checkpoint(begun, before, _planned(files, batch), query, batch)


def planned_stretch(spark: SparkSession, path: str, topic: str, batch: int) -> OffsetRanges:
    """Return the offsets of a topic that Spark has planned for a batch, as its checkpoint says before the batch is read."""
    files = _Files(spark, path)
    begun = _offsets(files.text("sources/0/0").rpartition("\n")[2]).get(topic, {})
    before = _planned(files, batch - 1).get(topic, {}) if batch else begun
    found = {at: (before.get(at, begun.get(at, 0)), end) for at, end in _planned(files, batch).get(topic, {}).items()}
    return {partition: (begin, end) for partition, (begin, end) in found.items() if begin < end}


def _planned(files: _Files, batch: int) -> Offsets:
    # The version of the log, the state of the query, and the offsets of its one source.
    return _offsets(files.text(f"offsets/{batch}").splitlines()[2])


def _offsets(text: str) -> Offsets:
    return msgspec.json.decode(text, type=Offsets)


def holds_checkpoint(spark: SparkSession, path: str) -> bool:
    """Tell whether there is a checkpoint, or a part of one."""
    return bool(_parts(_Files(spark, path)))


def set_aside(spark: SparkSession, path: str, now: datetime) -> str:
    """Move a checkpoint into a folder inside its own, so that the next query begins anew; return that folder's name.

    The offsets go first: what is left of a checkpoint when this is broken off is damaged, and not taken for a whole one.
    """
    files = _Files(spark, path)
    folder = f"{SET_ASIDE}{now:%Y%m%dT%H%M%S%f}"
    for name in sorted(_parts(files), key=lambda name: (name != "offsets", name == "metadata", name)):
        files.move(name, folder)
    return folder


def _parts(files: _Files) -> list[str]:
    return [name for name in files.names("") if not name.startswith(SET_ASIDE)]


class _Files:
    """Files of a checkpoint, wherever it is: Spark's own file systems read them."""

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
        """Return the batches that a folder has files of, in their order."""
        return sorted(int(name) for name in self.names(folder) if name.isdecimal())

    def text(self, path: str) -> str:
        system, found = self._at(path)
        stream = system.open(found)
        try:
            return str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def move(self, name: str, folder: str) -> None:
        """Move a file or folder into another folder; raises ConfigError where that is not possible."""
        (system, found), (_, target) = self._at(name), self._at(folder)
        if not (system.mkdirs(target) and system.rename(found, self._at(f"{folder}/{name}")[1])):
            raise ConfigError(f"the checkpoint {self._root} can't be moved away: delete it and start again")


def missing_ranges(topic: str, mark: CommittedOffsets, checkpoint: Checkpoint, messages: Messages) -> OffsetRanges:
    """Return where messages of the topic are that the checkpoint counts as done and the graph may lack.

    Of a partition that the graph does not name it has nothing. Unless it says that the last batch is done, that one is lacking,
    whatever the offsets: another consumer with a checkpoint of its own may have said them. Offsets that hold no message, as
    transactions leave them, are not lacking; nor are messages that Kafka has deleted (`headwater_consumer.losses`).
    """
    is_done = mark.done == batch_identity(checkpoint.query, checkpoint.batch)
    needed = _needed(topic, mark, checkpoint, is_trusted=is_done)
    found: OffsetRanges = {}
    for partition, end in sorted(checkpoint.committed.get(topic, {}).items()):
        begin = needed[partition]
        first = messages.first(partition, begin, end) if begin < end else None
        if first is not None:
            found[partition] = (first, end)
    return found


def first_needed(topic: str, mark: CommittedOffsets, checkpoint: Checkpoint) -> dict[int, int]:
    """Return of each partition that the graph or the checkpoint names the first offset that is not in the graph.

    What a consumer said with this same checkpoint is certain. What another one said does not tell that the last batch of
    this checkpoint is in.
    """
    query, _, number = mark.done.rpartition("/")
    if checkpoint.batch < 0 or query != checkpoint.query:
        return _needed(topic, mark, checkpoint, is_trusted=checkpoint.batch < 0)
    # A batch may end with offsets that hold no message: the graph says none of them, the checkpoint does.
    last = {0: checkpoint.committed, 1: checkpoint.before}.get(max(checkpoint.batch - int(number), 0), {}).get(
        topic, {}
    )
    needed = _needed(topic, mark, checkpoint, is_trusted=True)
    return {partition: max(begin, last.get(partition, begin)) for partition, begin in needed.items()}


def _needed(topic: str, mark: CommittedOffsets, checkpoint: Checkpoint, *, is_trusted: bool) -> dict[int, int]:
    written, begun, before = (offsets.get(topic, {}) for offsets in (mark.offsets, checkpoint.begun, checkpoint.before))
    needed = dict(written)
    for partition in checkpoint.committed.get(topic, {}):
        origin = begun.get(partition, 0)
        begin = written.get(partition, origin)
        needed[partition] = begin if is_trusted else min(begin, before.get(partition, origin))
    return needed


def portions(ranges: Mapping[int, tuple[int, int]], at_once: int) -> Iterator[OffsetRanges]:
    """Divide a stretch into ones of about so many offsets, each a like share of all partitions: so their times stay near."""
    parts = -(-sum(end - begin for begin, end in ranges.values()) // at_once)
    for part in range(parts):
        shares = {
            partition: (begin + (end - begin) * part // parts, begin + (end - begin) * (part + 1) // parts)
            for partition, (begin, end) in ranges.items()
        }
        yield {partition: share for partition, share in shares.items() if share[0] < share[1]}
