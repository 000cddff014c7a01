"""What a graph lacks of what the checkpoint counts as done, and in which portions it is read again."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headwater_consumer.kafka.messages import InMemoryMessages, KafkaMessages, Message, Messages
from headwater_consumer.recovery import Checkpoint, OffsetRanges, missing_ranges, portions
from headwater_graph.store.writer_node import CommittedOffsets, Offsets

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


def test_a_graph_that_has_all_lacks_nothing() -> None:
    assert lacks({TOPIC: {0: 10, 1: 4}}, COMMITTED, ALL) == {}


def test_a_graph_that_is_ahead_lacks_nothing() -> None:
    assert lacks({TOPIC: {0: 11, 1: 9}}, COMMITTED, ALL) == {}


def test_what_was_handed_over_and_not_written_is_lacking() -> None:
    assert lacks({TOPIC: {0: 8, 1: 4}}, COMMITTED, ALL) == {0: (8, 10)}


def test_offsets_that_hold_no_message_are_not_lacking() -> None:
    assert lacks({TOPIC: {0: 10, 1: 2}}, COMMITTED, ALL) == {}


def test_a_graph_that_knows_nothing_of_the_topic_lacks_all_of_it() -> None:
    assert lacks({"other": {0: 10}}, COMMITTED, ALL) == {0: (0, 10), 1: (1, 4)}


def test_of_a_partition_that_the_graph_does_not_name_it_has_nothing() -> None:
    assert lacks({TOPIC: {0: 10}}, COMMITTED, ALL) == {1: (1, 4)}


def test_what_lies_before_the_streams_beginning_is_not_asked_for() -> None:
    began_late = checkpoint({TOPIC: {0: 10, 1: 4}}, {TOPIC: {0: 7, 1: 4}})
    assert lacks({}, began_late, ALL) == {0: (7, 10)}


def test_without_a_checkpoint_nothing_is_lacking() -> None:
    assert lacks({}, Checkpoint(), ALL) == {}


@pytest.mark.parametrize("said", ["q/2", "q/4", "other/3", ""])
def test_a_batch_that_the_graph_does_not_call_done_is_lacking_whatever_its_offsets(said: str) -> None:
    """Another consumer, with a checkpoint of its own, may have said offsets beyond what this one has brought in."""
    assert lacks({TOPIC: {0: 100, 1: 100}}, COMMITTED, ALL, said) == {0: (7, 10)}
    assert lacks({TOPIC: {0: 3, 1: 1}}, COMMITTED, ALL, said) == {0: (3, 10), 1: (1, 4)}


def test_what_kafka_has_no_more_is_passed_over() -> None:
    assert lacks({TOPIC: {0: 2, 1: 4}}, COMMITTED, InMemoryMessages([at(6)])) == {0: (6, 10)}


def test_portions_take_a_like_share_of_every_partition_and_leave_nothing_out() -> None:
    ranges = {0: (5, 105), 1: (0, 50), 2: (7, 8)}
    found = list(portions(ranges, 40))
    assert [sum(end - begin for begin, end in one.values()) for one in found] == [37, 38, 37, 39]
    for partition, (begin, end) in ranges.items():
        shares = [one[partition] for one in found if partition in one]
        assert [offset for share in shares for offset in range(*share)] == list(range(begin, end))


def test_of_nothing_there_are_no_portions() -> None:
    assert list(portions({}, 10)) == []


@pytest.mark.end_to_end
def test_kafka_tells_the_first_message_that_is_left_as_the_fake_does(room: Room) -> None:
    room.send([run_event("one") for _ in range(6)], partition=0)
    admin = AdminClient(room.client)
    (gone,) = admin.delete_records([TopicPartition(room.topic, 0, 2)]).values()
    assert gone.result(30).low_watermark == 2
    kafka, fake = KafkaMessages(room.topic, room.client), InMemoryMessages([at(offset) for offset in range(2, 6)])
    for asked in ((0, 0, 10), (0, 0, 2), (0, 3, 4), (0, 6, 9), (1, 0, 5), (99, 0, 5)):
        assert kafka.first(*asked) == fake.first(*asked), asked
    assert kafka.first(0, 0, 10) == 2
