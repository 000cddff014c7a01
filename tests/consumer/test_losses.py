"""What Kafka has deleted before it was in the graph: told from what never was a message, and from what is in the graph."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from headwater_avro.errors import ConfigError
from headwater_consumer.faults import cause_of
from headwater_consumer.kafka.brokers import NO_TOPIC_ID, end_offsets, first_offsets, topic_id_of
from headwater_consumer.kafka.messages import KafkaMessages
from headwater_consumer.losses import (
    RECORDED,
    deleted_ranges,
    described,
    lost_messages,
    recorded,
    refusal,
    unread_ranges,
    with_ranges,
)
from headwater_consumer.partition import PartitionStatistics
from headwater_consumer.recovery import Checkpoint
from headwater_consumer.starting import SameTopic, is_another
from headwater_graph.apply.batch_writer import BatchPosition
from headwater_graph.apply.merged import Portion
from headwater_graph.rules.coalesce import MergedRow
from headwater_graph.store.writer_node import CommittedOffsets, Loss, losses_in

from .kafka_room import CollectingWriter, Room, run_event
from .topics import create_again, delete_messages

TOPIC = "t"
KNOWN = Checkpoint({TOPIC: {0: 2}}, {TOPIC: {0: 7, 1: 2}}, {TOPIC: {0: 10, 1: 4}}, "q", 3)
WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def lost(offsets: dict[int, int], starts: dict[int, int], *, done: str = "q/3", known: Checkpoint = KNOWN) -> object:
    return lost_messages(TOPIC, CommittedOffsets({TOPIC: offsets}, done), known, starts)


def test_offsets_between_the_graphs_offsets_and_the_log_start_are_lost() -> None:
    assert lost({0: 5, 1: 2}, {0: 8, 1: 2}, done="q/1") == {0: (5, 8)}


def test_messages_deleted_before_they_were_read_are_lost_too() -> None:
    assert lost({0: 10, 1: 4}, {0: 15, 1: 4}) == {0: (10, 15)}


def test_offsets_without_a_message_at_the_end_of_a_batch_that_is_in_the_graph_are_not_lost() -> None:
    assert lost({0: 9, 1: 4}, {0: 10, 1: 4}) == {}
    assert lost({0: 6, 1: 2}, {0: 7, 1: 2}, done="q/2") == {}
    assert lost({0: 6, 1: 2}, {0: 8, 1: 2}, done="q/2") == {0: (7, 8)}


def test_a_graph_with_everything_before_the_log_start_has_no_losses() -> None:
    assert lost({0: 10, 1: 4}, {0: 10, 1: 0}) == {}


def test_a_new_graph_with_an_old_checkpoint_has_lost_everything_deleted_since_the_query_began() -> None:
    assert lost_messages(TOPIC, CommittedOffsets(), KNOWN, {0: 4, 1: 1}) == {0: (2, 4), 1: (0, 1)}


def test_a_first_start_has_no_losses() -> None:
    assert lost_messages(TOPIC, CommittedOffsets(), Checkpoint(), {0: 40, 1: 50}) == {}
    assert lost_messages(TOPIC, CommittedOffsets({"other": {0: 3}}), Checkpoint(), {0: 40}) == {}


def test_without_a_checkpoint_the_graphs_offsets_apply() -> None:
    assert lost({0: 10}, {0: 40, 1: 9}, known=Checkpoint(), done="old/9") == {0: (10, 40)}


def test_a_partition_that_was_never_read_has_no_losses() -> None:
    assert lost({0: 10, 1: 4}, {0: 0, 1: 0, 2: 30}) == {}


@pytest.mark.parametrize("said", ["q/2", "q/4"])
def test_offsets_committed_with_this_checkpoint_are_reliable(said: str) -> None:
    assert lost({0: 10, 1: 4}, {0: 9, 1: 4}, done=said) == {}


def test_offsets_of_another_consumer_do_not_show_that_the_last_batch_is_written() -> None:
    assert lost({0: 100, 1: 100}, {0: 9, 1: 1}, done="other/7") == {0: (7, 9)}


def test_the_error_names_each_partition_and_the_number_of_offsets() -> None:
    assert described(TOPIC, {1: (0, 1), 0: (5, 8)}) == "4 offsets: t/0 from 5 to 7 (3), t/1 from 0 to 0 (1)"
    assert "HEADWATER_FAIL_ON_DATA_LOSS=false" in str(refusal(TOPIC, {0: (5, 8)}))


def test_the_graph_records_losses_and_deletes_the_oldest_of_too_many() -> None:
    first = recorded(TOPIC, {0: (5, 8)}, (), WHEN)
    assert first == (Loss(TOPIC, 0, 5, 8, WHEN.isoformat()),)
    many = recorded(TOPIC, dict.fromkeys(range(RECORDED), (0, 1)), first, WHEN)
    assert (len(many), many[0].partition, many[0].begin) == (RECORDED, 0, 0)
    (row,) = BatchPosition("q", 1, {TOPIC: {0: 8}}, losses=first).commit["set_losses"]
    assert losses_in(row["losses"]) == first


def task(partition: int, first: int, end: int, *gaps: tuple[int, int]) -> PartitionStatistics:
    return PartitionStatistics(TOPIC, partition, 1, 1, first, end, 0.0, gaps=gaps)


def test_offsets_of_a_batch_that_no_task_has_read_are_before_between_and_after_its_messages() -> None:
    planned = {0: (5, 30), 1: (0, 4), 2: (7, 9)}
    tasks = [task(0, 20, 28), task(0, 8, 20, (10, 12)), task(2, 7, 9)]
    unread = unread_ranges(planned, tasks)
    assert unread == ((0, 5, 8), (0, 10, 12), (0, 28, 30), (1, 0, 4))
    assert deleted_ranges(unread, {0: 0, 1: 0, 2: 9}) == ()
    assert deleted_ranges(unread, {0: 11, 1: 9}) == ((0, 5, 8), (0, 10, 11), (1, 0, 4))


def test_a_loss_that_is_found_again_is_recorded_once() -> None:
    once = with_ranges(TOPIC, [(0, 5, 8)], (), WHEN)
    assert with_ranges(TOPIC, [(0, 5, 8), (1, 0, 2)], once, WHEN) == (*once, Loss(TOPIC, 1, 0, 2, WHEN.isoformat()))


def test_topic_ids_differ_only_if_both_are_known() -> None:
    assert is_another("a", "b")
    assert not any(is_another(*ids) for ids in (("a", "a"), ("", "b"), ("a", ""), ("", "")))


def test_the_cause_of_an_error_that_python_passed_on_is_reported() -> None:
    passed_on = "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n"
    java = "py4j.protocol.Py4JJavaError: An error occurred\n\tat a.b\nCaused by: java.lang.Fault: data may be lost\n\tat c.d"
    assert cause_of(passed_on + java) == "java.lang.Fault: data may be lost"
    assert cause_of(passed_on + '  File "x"\nValueError: wrong') == "ValueError: wrong"
    assert cause_of("=== Streaming Query ===\njava.lang.Fault: no\n\tat a.b") == "java.lang.Fault: no"


@pytest.mark.end_to_end
def test_kafka_returns_log_start_offsets_and_topic_ids(room: Room) -> None:
    room.send([run_event("one") for _ in range(6)], partition=1)
    delete_messages(room.client, room.topic, {1: 4})
    assert first_offsets(room.client, room.topic) == {0: 0, 1: 4, 2: 0, 3: 0}
    assert end_offsets(room.client, room.topic) == {0: 0, 1: 6, 2: 0, 3: 0}
    before = topic_id_of(room.client, room.topic)
    assert before not in {"", NO_TOPIC_ID}
    assert topic_id_of(room.client, f"{room.topic}.absent") == ""
    assert first_offsets(room.client, f"{room.topic}.absent") == {}
    assert end_offsets(room.client, f"{room.topic}.absent") == {}
    same = SameTopic(room.client, room.topic, before)
    same.check()
    create_again(room.client, room.topic, 4)
    assert topic_id_of(room.client, room.topic) != before
    with pytest.raises(ConfigError, match="--topic-was-recreated"):
        same.check()


@pytest.mark.end_to_end
def test_offsets_without_a_message_are_not_lost(room: Room) -> None:
    """Control records of transactions, and all that is left of the topic: the next start goes on."""
    room.send_in_transactions([[run_event("one")], [run_event("two")]], partition=0)
    room.consume()
    mark = room.writer.committed_offsets()
    assert (mark.offsets[room.topic][0], KafkaMessages(room.topic, room.client).first(0, 3, 9)) == (3, None)
    delete_messages(room.client, room.topic, {0: -1})
    assert first_offsets(room.client, room.topic)[0] == 4
    room.send([run_event("three")], partition=0)
    room.consume()
    assert room.writer.runs == {"one", "two", "three"}


class GateWriter(CollectingWriter):
    """A graph that lets a test act between the reading of a batch with the run ``gate`` and the planning of the next."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act = act

    def prepare(self, rows: Iterable[MergedRow]) -> list[Portion]:
        listed = list(rows)
        if any(row[1] == b"gate" for row in listed):
            self._act()
        return super().prepare(listed)


def consumed_until(room: Room, holds: Callable[[], bool], **flags: Any) -> None:
    """Run the stream, which does not end by itself, until something holds."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            stream.run(available_now=False)
        except BaseException as fault:  # noqa: BLE001 - raised below, in the thread of the test
            failures.append(fault)

    stream = room.stream(**flags)
    stream.catch_up(room.writer.committed_offsets(), KafkaMessages(room.topic, room.client))
    thread = threading.Thread(target=run)
    thread.start()
    give_up = time.monotonic() + 120
    while not holds() and thread.is_alive() and time.monotonic() < give_up:
        time.sleep(0.05)
    room.stop.set()
    thread.join(120)
    room.stop.clear()
    assert not failures, failures
    assert holds()


@pytest.mark.end_to_end
def test_messages_that_kafka_deletes_while_the_consumer_runs_are_recorded(room: Room) -> None:
    """Of partition 1 the first of its new messages, of partition 2 all, of partition 3 none."""

    def send_and_delete() -> None:
        room.send([run_event(f"r{n}") for n in range(10)], partition=1)
        room.send([run_event(f"deleted{n}") for n in range(5)], partition=2)
        room.send_in_transactions([[run_event("t0")], [run_event("t1")]], partition=3)
        delete_messages(room.client, room.topic, {1: 6, 2: -1})

    room.writer = GateWriter(send_and_delete)
    room.send([run_event("gate")], partition=0)
    there = {"gate", "t0", "t1", "r6", "r7", "r8", "r9"}
    expected = [(1, 0, 6), (2, 0, 5)]

    def is_recorded() -> bool:
        marks = [mark for mark in room.writer.batch_positions if mark.losses]
        return bool(marks) and room.writer.runs == there

    consumed_until(room, is_recorded, fail_on_data_loss=False)
    (mark,) = [mark for mark in room.writer.batch_positions if mark.losses]
    assert [(loss.partition, loss.begin, loss.end) for loss in mark.losses] == expected
    assert {loss.topic for loss in mark.losses} == {room.topic}
    offsets = room.writer.batch_positions[-1].offsets[room.topic]
    assert {partition: offsets[partition] for partition in range(3)} == {0: 1, 1: 10, 2: 5}
    assert room.status.state.lost == 11

    # The next start finds nothing more, whether or not losses stop it.
    room.send([run_event("last")], partition=2)
    room.consume()
    assert room.writer.runs == {*there, "last"}
    assert [mark for mark in room.writer.batch_positions if mark.losses] == [mark]
