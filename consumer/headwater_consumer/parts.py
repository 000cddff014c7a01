"""Read a batch in parts that stay below a number of bytes, whatever number of messages Spark has planned for it.

Theory of operation. Spark limits a batch by its number of messages. So each task stops at its share of the bytes and
reports how far it came (``PartitionStatistics``), and the rest of the batch is read by its offsets, part by part. The
size of later parts is estimated from the messages read before, so that tasks seldom have to stop. If memory is short
nevertheless, a part is read again in smaller parts, down to a single message, which is read without Spark: Java needs six
times the size of a message to pass it on, and its heap is limited.

The graph does not depend on where a batch is divided (specification, theory of operation). A batch is done only with
its last part.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from headwater_consumer.batch_processor import query_of
from headwater_consumer.faults import StreamFailed, cause_of, end_of_java, ran_out_of_memory
from headwater_consumer.recovery import OffsetRanges

if TYPE_CHECKING:
    from pathlib import Path

    from headwater_consumer.batch_processor import Batch, BatchProcessor
    from headwater_consumer.kafka.messages import Messages
    from headwater_consumer.partition import PartitionStatistics

logger = logging.getLogger("headwater.consumer")

SMALLER = 4
"""By what a part is divided that did not fit into memory."""

LEAST = 1_000_000
"""Bytes below which a part is a single message."""

ONE_MESSAGE = 0
"""The bytes of a part that is a single message, read without Spark."""

FILLED = 0.8
"""How much of its share a task is given by the estimate, so that messages a little heavier don't make it stop."""

Again: TypeAlias = Callable[[OffsetRanges, int], Any]
"""Makes a frame of tagged rows of a stretch of the topic, of which each task reads at most so many bytes.

With ``ONE_MESSAGE`` it is the first message of a partition alone.
"""


@dataclass(frozen=True, slots=True)
class Planned:
    """A batch as Spark has planned it; ``ranges`` finds out its offsets, which takes reading Spark's checkpoint."""

    frame: Any
    batch_id: int
    ranges: Callable[[], OffsetRanges]
    query_id: str | None = None


class Parts:
    """Reads batches in parts; how large a part may be is remembered from one batch to the next.

    Where Spark's Java process ends over a part, this process ends too. The file ``memo`` has the size with which the next one
    begins: a single message, because a start costs more than some small parts.
    """

    def __init__(self, cycle: BatchProcessor, messages: Messages, again: Again, most: int, memo: Path) -> None:
        self._cycle = cycle
        self._messages = messages
        self._again = again
        self._most = most
        self._memo = memo
        self._bytes = self._remembered()

    def read(self, planned: Planned) -> Iterator[Batch]:
        """Yield the parts of a batch, read and prepared: as a rule there is but one.

        All but the last have the number of the batch before, since a mark with the batch's own number says that all of it
        is done. Raises Draining where the consumer is to stop, StreamFailed where a single message does not fit into memory.
        """
        progress = _Progress(planned)
        query_id = planned.query_id or query_of(planned.frame)
        # A batch of ordinary size is Spark's frame as it is.
        part = None if self._bytes == self._most else progress.next_part(self._bytes)
        while True:
            frame = planned.frame if part is None else self._again(part, share_of(self._bytes, len(part)))
            try:
                batch = self._cycle.read(frame, planned.batch_id, query_id)
            except Exception as fault:
                java_ended = end_of_java(fault) is not None
                if not (java_ended or ran_out_of_memory(fault)):
                    raise
                if java_ended:
                    self._bytes = ONE_MESSAGE
                    self._remember()
                    raise
                self._read_less(progress, fault)
            else:
                self._read_more(progress, batch.tagged.statistics)
                if progress.is_done_with(part, batch.tagged.statistics):
                    yield batch
                    return
                yield replace(batch, batch_id=planned.batch_id - 1)
            part = progress.next_part(self._bytes)

    def _read_less(self, progress: _Progress, fault: Exception) -> None:
        """Make parts smaller; raises StreamFailed where the part that failed was a single message."""
        if self._bytes == ONE_MESSAGE:
            raise StreamFailed(self._too_large(progress.rest, fault)) from fault
        smaller = self._bytes // SMALLER
        self._bytes = smaller if smaller >= LEAST else ONE_MESSAGE
        logger.warning(
            "memory was short: the batch is read in smaller parts",
            extra={"bytes": self._bytes or "one message", "reason": cause_of(fault)},
        )

    def _read_more(self, progress: _Progress, tallies: Sequence[PartitionStatistics]) -> None:
        """Let parts grow back after one that fitted, unless it has a message larger than a task's share of a batch."""
        largest = max((tally.largest for tally in tallies), default=0)
        if self._bytes != self._most and largest <= share_of(self._most, progress.partitions):
            self._bytes = min(self._most, max(self._bytes, LEAST) * 2)
            if self._bytes == self._most:
                self._memo.unlink(missing_ok=True)

    def _remembered(self) -> int:
        try:
            return min(self._most, int(self._memo.read_text()))
        except (OSError, ValueError):
            # There is none as a rule, and one that can't be read costs a start more.
            return self._most

    def _remember(self) -> None:
        try:
            self._memo.parent.mkdir(parents=True, exist_ok=True)
            self._memo.write_text(str(self._bytes))
        except OSError as fault:
            logger.warning("how much memory there is can't be kept for the next start", extra={"reason": str(fault)})

    def _too_large(self, rest: OffsetRanges, fault: Exception) -> str:
        (partition, (offset, _)), *_ = sorted(rest.items())
        found = next(iter(self._messages.fetch([(partition, offset)])), None)
        size = f"{len(found.value or b''):,} bytes" if found is not None else "size unknown"
        where = f"the message at partition {partition}, offset {offset} ({size})"
        return f"{where} does not fit into memory: raise the memory limit of the consumer ({cause_of(fault)})"


class _Progress:
    """What is left of a batch, and what messages weigh, while its parts are read."""

    def __init__(self, planned: Planned) -> None:
        self._planned = planned
        self._rest: OffsetRanges | None = None
        self.partitions = 0
        self._weights: dict[int, float] = {}

    @property
    def rest(self) -> OffsetRanges:
        if self._rest is None:
            self._rest = self._planned.ranges()
            self.partitions = len(self._rest)
        return self._rest

    def next_part(self, most: int) -> OffsetRanges:
        return first_part(self.rest, most, self._weights)

    def is_done_with(self, part: OffsetRanges | None, tallies: Sequence[PartitionStatistics]) -> bool:
        """Note what tasks have read of a part, None for all of the batch; return whether that was the rest of it."""
        if part is None and not any(tally.is_partial for tally in tallies):
            return True
        self._weights |= {tally.partition: tally.bytes / tally.messages for tally in tallies}
        self._rest = left(self.rest, self.rest if part is None else part, tallies)
        return not self._rest


def share_of(most: int, partitions: int) -> int:
    """Return how many bytes the task of each partition may read, at least 1; one message is always read."""
    return ONE_MESSAGE if most == ONE_MESSAGE else max(1, most // max(1, partitions))


def first_part(rest: OffsetRanges, most: int, weights: Mapping[int, float]) -> OffsetRanges:
    """Return what of a stretch is read first: about ``most`` bytes by the weight of messages known so far.

    ``weights`` are bytes per message by partition. A partition of unknown weight is taken whole: its task stops by itself,
    and so does one that reads a single message.
    """
    if most == ONE_MESSAGE:
        return dict([min(rest.items())])
    # A task reads at least one message, so few bytes, or heavy messages, mean few partitions.
    partitions = sorted(rest)[: max(1, int(most / max(LEAST, *weights.values(), 0)))]
    share = share_of(most, len(partitions))
    found: OffsetRanges = {}
    for partition in partitions:
        begin, end = rest[partition]
        weight = weights.get(partition)
        fitting = max(1, int(share * FILLED / weight)) if weight else end - begin
        found[partition] = (begin, min(end, begin + fitting))
    return found


def left(rest: OffsetRanges, part: OffsetRanges, tallies: Iterable[PartitionStatistics]) -> OffsetRanges:
    """Return what of ``rest`` is to be read after ``part``, of which tasks have read what their tallies say."""
    stopped = {tally.partition: tally.end for tally in tallies if tally.is_partial}
    found = dict(rest)
    for partition, (_, end) in part.items():
        found[partition] = (stopped.get(partition, end), rest[partition][1])
    return {partition: (begin, end) for partition, (begin, end) in found.items() if begin < end}
