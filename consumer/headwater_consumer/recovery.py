"""What the graph lacks of what the checkpoint counts as done, so that it is read again before the stream goes on (specification 11).

The graph says up to which offsets messages are in it, the checkpoint from which ones the stream goes on. What lies between
the two was handed over and not written when a consumer was killed, or the graph was restored from an older copy, or is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from headwater_consumer.kafka.messages import Messages
from headwater_graph.apply.batch_writer import batch_identity
from headwater_graph.store.writer_node import CommittedOffsets, Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OffsetRanges: TypeAlias = dict[int, tuple[int, int]]
"""{partition: (first offset, offset after the last)} of a topic."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """From which offsets a query began, and from which it goes on; ``batch`` its last that counts as done, from ``before`` on."""

    begun: Offsets = field(default_factory=dict)
    before: Offsets = field(default_factory=dict)
    committed: Offsets = field(default_factory=dict)
    query: str = ""
    batch: int = -1


def read_checkpoint(spark: SparkSession, path: str) -> Checkpoint:
    """Return what Spark's checkpoint says; nothing where there is none."""
    files = _Files(spark, path)
    batch = max((int(name) for name in files.names("commits") if name.isdecimal()), default=None)
    if batch is None:
        return Checkpoint()
    # A byte that old versions of Spark want, the version of the log, and the offsets.
    begun = _offsets(files.text("sources/0/0").rpartition("\n")[2])
    before = _planned(files, batch - 1) if batch else begun
    return Checkpoint(begun, before, _planned(files, batch), json.loads(files.text("metadata"))["id"], batch)


def _planned(files: _Files, batch: int) -> Offsets:
    # The version of the log, the state of the query, and the offsets of its one source.
    return _offsets(files.text(f"offsets/{batch}").splitlines()[2])


def _offsets(text: str) -> Offsets:
    return {topic: {int(at): end for at, end in ends.items()} for topic, ends in json.loads(text).items()}


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

    def text(self, path: str) -> str:
        system, found = self._at(path)
        stream = system.open(found)
        try:
            return str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()


def missing_ranges(topic: str, mark: CommittedOffsets, checkpoint: Checkpoint, messages: Messages) -> OffsetRanges:
    """Return where messages of the topic are that the checkpoint counts as done and the graph may lack.

    Of a partition that the graph does not name it has nothing. Unless it says that the last batch is done, that one is lacking,
    whatever the offsets: another consumer with a checkpoint of its own may have said them. Offsets that hold no message, as
    transactions leave them, and messages that Kafka has no more, are not lacking.
    """
    is_done = mark.done == batch_identity(checkpoint.query, checkpoint.batch)
    written, begun, before = (offsets.get(topic, {}) for offsets in (mark.offsets, checkpoint.begun, checkpoint.before))
    found: OffsetRanges = {}
    for partition, end in sorted(checkpoint.committed.get(topic, {}).items()):
        origin = begun.get(partition, 0)
        begin = written.get(partition, origin)
        begin = begin if is_done else min(begin, before.get(partition, origin))
        first = messages.first(partition, begin, end) if begin < end else None
        if first is not None:
            found[partition] = (first, end)
    return found


def portions(ranges: Mapping[int, tuple[int, int]], at_once: int) -> Iterator[OffsetRanges]:
    """Divide a stretch into ones of about so many offsets, each a like share of all partitions: so their times stay near."""
    parts = -(-sum(end - begin for begin, end in ranges.values()) // at_once)
    for part in range(parts):
        shares = {
            partition: (begin + (end - begin) * part // parts, begin + (end - begin) * (part + 1) // parts)
            for partition, (begin, end) in ranges.items()
        }
        yield {partition: share for partition, share in shares.items() if share[0] < share[1]}
