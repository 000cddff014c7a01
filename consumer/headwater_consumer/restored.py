"""A graph that lacks what the checkpoint counts as done: one that was restored from an older copy, or a new one (DESIGN 2).

The graph says up to which offsets messages are in it, the checkpoint from which ones the stream goes on. Where there are
messages between the two, they would never be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headwater_avro.errors import HeadwaterError
from headwater_graph.writers import Offsets

from .messages import Messages, Position

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE = 5_000
"""How many positions are looked at in one go."""


class GraphBehind(HeadwaterError):
    """The graph lacks messages that the checkpoint counts as done: begin with a new checkpoint, so that they are read again."""


def committed_offsets(spark: SparkSession, checkpoint: str) -> Offsets:
    """Return from which offsets a checkpoint goes on, of the last batch that it counts as done; none where there is none."""
    files = _Files(spark, checkpoint)
    done = [int(name) for name in files.names("commits") if name.isdecimal()]
    if not done:
        return {}
    # The version of the log, the state of the query, and the offsets of its one source.
    _, _, offsets = files.text(f"offsets/{max(done)}").splitlines()[:3]
    return {topic: {int(at): end for at, end in ends.items()} for topic, ends in json.loads(offsets).items()}


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


def refuse_behind(topic: str, written: Offsets, committed: Offsets, messages: Messages) -> None:
    """Raise GraphBehind where there are messages of the topic between what is written and what is committed.

    Of a partition that the graph says nothing of nothing is known, unless it says nothing of the topic at all. Gaps that hold
    no message, as transactions leave them, are none.
    """
    known = written.get(topic)
    for partition, end in sorted(committed.get(topic, {}).items()):
        begin = 0 if known is None else known.get(partition, end)
        for positions in _portions(partition, begin, end):
            if next(iter(messages.fetch(positions)), None) is not None:
                raise GraphBehind(_why(topic, partition, begin, end))


def _portions(partition: int, begin: int, end: int) -> Iterator[list[Position]]:
    for first in range(begin, end, AT_ONCE):
        yield [(partition, offset) for offset in range(first, min(first + AT_ONCE, end))]


def _why(topic: str, partition: int, begin: int, end: int) -> str:
    return (
        f"the graph lacks messages that the checkpoint counts as done: of partition {partition} of {topic} it has those before "
        f"offset {begin}, the checkpoint goes on from {end}. It was restored from an older copy, or is new. Delete the "
        "checkpoint, so that the topic is read again: what the graph has already changes nothing in it"
    )
