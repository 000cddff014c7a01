"""Messages that Kafka has deleted before they were in the graph: found by their offsets, reported, and recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from headwater_avro.errors import HeadwaterError
from headwater_consumer.recovery import Checkpoint, first_needed
from headwater_graph.store.writer_node import CommittedOffsets, Loss

if TYPE_CHECKING:
    from headwater_consumer.partition import PartitionStatistics

Lost: TypeAlias = dict[int, tuple[int, int]]
"""{partition: (first offset, offset after the last)} of a topic."""

Ranges: TypeAlias = tuple[tuple[int, int, int], ...]
"""(partition, first offset, offset after the last) of a topic."""

RECORDED = 1_000
"""The number of losses that the graph records; the oldest are deleted first."""


class MessagesLost(HeadwaterError):
    """Kafka has deleted messages that are not in the graph, and ``fail_on_data_loss`` is set."""


def lost_messages(
    topic: str, committed: CommittedOffsets, checkpoint: Checkpoint, log_starts: Mapping[int, int]
) -> Lost:
    """Return the offsets that are not in the graph and are before the log start offsets of the topic's partitions.

    Messages before a log start offset were deleted. Later offsets without a message, as transactions and compaction leave
    them, are not lost. A partition that neither the graph nor the checkpoint names is new and has no losses.
    """
    needed = first_needed(topic, committed, checkpoint)
    starts = {partition: log_starts.get(partition, begin) for partition, begin in needed.items()}
    return {at: (begin, starts[at]) for at, begin in sorted(needed.items()) if begin < starts[at]}


def described(topic: str, lost: Lost) -> str:
    """Return a text with the number of lost offsets, and the lost ranges by partition."""
    ranges = tuple((at, begin, end) for at, (begin, end) in sorted(lost.items()))
    total = sum(end - begin for _, begin, end in ranges)
    return f"{total} offsets: {described_ranges(topic, ranges)}"


def described_ranges(topic: str, ranges: Ranges) -> str:
    """Return a text with ranges of offsets and the number of offsets in each."""
    return ", ".join(f"{topic}/{at} from {begin} to {end - 1} ({end - begin})" for at, begin, end in ranges)


def refusal(topic: str, lost: Lost) -> MessagesLost:
    """Return the error that names the lost offsets and says what to do."""
    return MessagesLost(
        f"Kafka has deleted messages that are not in the graph, {described(topic, lost)}. If an archive has them, "
        "`headwater replay --archive` sends them again. To continue without them, start once with "
        "HEADWATER_FAIL_ON_DATA_LOSS=false: the losses are then recorded in the graph"
    )


def recorded(topic: str, lost: Lost, before: Iterable[Loss], now: datetime) -> tuple[Loss, ...]:
    """Return the losses to record in the graph: the earlier ones, then these."""
    return with_ranges(topic, ((partition, *lost[partition]) for partition in sorted(lost)), before, now)


def with_ranges(
    topic: str, lost: Iterable[tuple[int, int, int]], before: Iterable[Loss], now: datetime
) -> tuple[Loss, ...]:
    """Return the losses to record in the graph: the earlier ones, then those of these ranges that are not among them."""
    known = list(before)
    places = {(loss.topic, loss.partition, loss.begin, loss.end) for loss in known}
    found = (Loss(topic, *place, now.isoformat()) for place in lost if (topic, *place) not in places)
    return (*known, *found)[-RECORDED:]


def unread_ranges(planned: Mapping[int, tuple[int, int]], statistics: Iterable[PartitionStatistics]) -> Ranges:
    """Return the offsets of a batch from which no task has read a message.

    Transactions and compaction leave such offsets. Others had messages that Kafka deleted before they could be read, which
    Spark skips unless ``fail_on_data_loss`` is set.
    """
    tasks = sorted(statistics, key=lambda task: task.first)
    return tuple(found for at in sorted(planned) for found in _unread(at, *planned[at], tasks))


def _unread(
    partition: int, begin: int, end: int, tasks: Iterable[PartitionStatistics]
) -> Iterator[tuple[int, int, int]]:
    position = begin
    for task in tasks:
        if task.partition != partition:
            continue
        if task.first > position:
            yield partition, position, task.first
        yield from ((partition, *gap) for gap in task.gaps)
        position = max(position, task.end)
    if position < end:
        yield partition, position, end


def deleted_ranges(unread: Ranges, log_starts: Mapping[int, int]) -> Ranges:
    """Return what of unread offsets is before the log start offsets of their partitions: these messages were deleted."""
    return tuple((at, begin, min(end, log_starts[at])) for at, begin, end in unread if begin < log_starts.get(at, 0))
