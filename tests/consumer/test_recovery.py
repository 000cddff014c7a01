"""What a graph lacks of what the checkpoint counts as done, and in which portions it is read again."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headwater_consumer.kafka.messages import KafkaMessages, Message, Messages
from headwater_consumer.recovery import Checkpoint, OffsetRanges, missing_ranges, not_done, portions
from headwater_graph.store.writer_node import CommittedOffsets, Offsets

from .fakes import InMemoryMessages
from .kafka_room import Room, run_event

TOPIC = "t"


def at(offset: int, partition: int = 0) -> Message:
    return Message(TOPIC, partition, offset, -1, None, b"{}", ())


def checkpoint(committed: Offsets, begun: Offsets | None = None) -> Checkpoint:
    return Checkpoint(begun or {}, {TOPIC: {0: 7, 1: 2}}, committed, "q", 3)


def lacks(offsets: Offsets, known: Checkpoint, messages: Messages, done: str = "q/3") -> OffsetRanges:
    return missing_ranges(TOPIC, CommittedOffsets(offsets, done), known, messages)


COMMITTED = checkpoint({TOPIC: {0: 10, 1: 4}})
ALL = InMemoryMessages([*(at(offset) for offset in range(10)), at(1, 1)])


def test_a_complete_graph_has_no_missing_ranges() -> None:
    assert lacks({TOPIC: {0: 10, 1: 4}}, COMMITTED, ALL) == {}


def test_a_graph_ahead_of_the_checkpoint_has_no_missing_ranges() -> None:
    assert lacks({TOPIC: {0: 11, 1: 9}}, COMMITTED, ALL) == {}


def test_offsets_handed_over_but_not_written_are_missing() -> None:
    assert lacks({TOPIC: {0: 8, 1: 4}}, COMMITTED, ALL) == {0: (8, 10)}


def test_offsets_without_a_message_are_not_missing() -> None:
    assert lacks({TOPIC: {0: 10, 1: 2}}, COMMITTED, ALL) == {}


def test_a_graph_without_the_topic_misses_all_of_it() -> None:
    assert lacks({"other": {0: 10}}, COMMITTED, ALL) == {0: (0, 10), 1: (1, 4)}


def test_a_partition_that_the_graph_does_not_name_is_missing_completely() -> None:
    assert lacks({TOPIC: {0: 10}}, COMMITTED, ALL) == {1: (1, 4)}


def test_offsets_before_the_beginning_of_the_stream_are_not_missing() -> None:
    began_late = checkpoint({TOPIC: {0: 10, 1: 4}}, {TOPIC: {0: 7, 1: 4}})
    assert lacks({}, began_late, ALL) == {0: (7, 10)}


def test_without_a_checkpoint_nothing_is_missing() -> None:
    assert lacks({}, Checkpoint(), ALL) == {}


@pytest.mark.parametrize("said", ["q/2", "q/4", "other/3", ""])
def test_a_batch_that_the_graph_does_not_name_as_done_is_missing_whatever_its_offsets(said: str) -> None:
    """Another consumer, with a checkpoint of its own, may have said offsets beyond what this one has brought in."""
    assert lacks({TOPIC: {0: 100, 1: 100}}, COMMITTED, ALL, said) == {0: (7, 10)}
    assert lacks({TOPIC: {0: 3, 1: 1}}, COMMITTED, ALL, said) == {0: (3, 10), 1: (1, 4)}


def test_offsets_that_kafka_has_deleted_are_not_missing() -> None:
    assert lacks({TOPIC: {0: 2, 1: 4}}, COMMITTED, InMemoryMessages([at(6)])) == {0: (6, 10)}


PLANNED: OffsetRanges = {0: (7, 10), 1: (2, 4)}


def remaining(offsets: dict[int, int], done: str = "q/3") -> OffsetRanges:
    return not_done(PLANNED, TOPIC, CommittedOffsets({TOPIC: offsets}, done), "q", 4)


def test_a_batch_continues_behind_its_parts_that_are_in_the_graph() -> None:
    assert remaining({0: 7, 1: 2}) == PLANNED
    assert remaining({0: 8}) == {0: (8, 10), 1: (2, 4)}
    assert remaining({0: 10, 1: 3}) == {1: (3, 4)}


def test_a_batch_whose_parts_are_all_in_the_graph_keeps_an_offset_to_end_with() -> None:
    assert remaining({0: 10, 1: 4}) == {0: (9, 10)}


def test_offsets_that_parts_of_the_batch_can_not_have_committed_do_not_shorten_it() -> None:
    assert remaining({0: 11, 1: 1}) == PLANNED
    assert remaining({0: 8, 1: 3}, done="q/2") == PLANNED
    assert remaining({0: 8, 1: 3}, done="other/3") == PLANNED
    assert not_done(PLANNED, "another", CommittedOffsets({TOPIC: {0: 8}}, "q/3"), "q", 4) == PLANNED


def test_portions_have_equal_shares_of_every_partition_and_are_complete() -> None:
    ranges = {0: (5, 105), 1: (0, 50), 2: (7, 8)}
    found = list(portions(ranges, 40))
    assert [sum(end - begin for begin, end in item.values()) for item in found] == [37, 38, 37, 39]
    for partition, (begin, end) in ranges.items():
        shares = [item[partition] for item in found if partition in item]
        assert [offset for share in shares for offset in range(*share)] == list(range(begin, end))


def test_no_ranges_give_no_portions() -> None:
    assert list(portions({}, 10)) == []


@pytest.mark.end_to_end
def test_kafka_returns_the_first_remaining_message_as_the_messages_in_memory_do(room: Room) -> None:
    room.send([run_event("one") for _ in range(6)], partition=0)
    admin = AdminClient(room.client)
    (deleted,) = admin.delete_records([TopicPartition(room.topic, 0, 2)]).values()
    assert deleted.result(30).low_watermark == 2
    kafka, fake = KafkaMessages(room.topic, room.client), InMemoryMessages([at(offset) for offset in range(2, 6)])
    for wanted in ((0, 0, 10), (0, 0, 2), (0, 3, 4), (0, 6, 9), (1, 0, 5), (99, 0, 5)):
        assert kafka.first(*wanted) == fake.first(*wanted), wanted
    assert kafka.first(0, 0, 10) == 2
