"""What Kafka has deleted before it was in the graph: told from what never was a message, and from what is in the graph."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headwater_avro.errors import ConfigError
from headwater_consumer.faults import cause_of
from headwater_consumer.kafka.brokers import NO_TOPIC_ID, end_offsets, first_offsets, topic_id_of
from headwater_consumer.kafka.messages import KafkaMessages
from headwater_consumer.losses import RECORDED, described, lost_messages, recorded, refusal
from headwater_consumer.recovery import Checkpoint
from headwater_consumer.starting import SameTopic, is_another
from headwater_graph.apply.batch_writer import BatchPosition
from headwater_graph.store.writer_node import CommittedOffsets, Loss, losses_in

from .kafka_room import Room, run_event
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
    (_, statement) = BatchPosition("q", 1, {TOPIC: {0: 8}}, losses=first).commit
    assert losses_in(statement.rows[0]["losses"]) == first


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
