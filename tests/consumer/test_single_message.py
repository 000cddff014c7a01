"""Messages read one by one without Spark, as after its Java ran out of memory: the graph gets the same from real Kafka."""

from __future__ import annotations

import threading

import pytest

from headwater_avro.codec import DEFAULT_DECOMPRESSION
from headwater_avro.errors import ServerUnavailable
from headwater_consumer.batch_processor import BatchProcessor, Tagged
from headwater_consumer.kafka.messages import Message
from headwater_consumer.losses import MessagesLost
from headwater_consumer.monitoring.health import Status
from headwater_consumer.monitoring.metrics import Metrics
from headwater_consumer.parts import ONE_MESSAGE
from headwater_consumer.single_message import FirstMessage

from .fakes import CollectedDeadLetters, InMemoryMessages
from .kafka_room import CollectingWriter, Room, run_event
from .test_partition import message
from .topics import delete_messages


def frame(found: Message | None) -> Tagged:
    return Tagged(FirstMessage(lambda: found, DEFAULT_DECOMPRESSION, None).toArrow())


def test_a_single_message_reports_that_there_may_be_more_behind_it() -> None:
    tagged = frame(message(7, run_event("r")))
    assert [row[:2] for row in tagged.rows()] == [("run", b"r")]
    (statistics,) = tagged.statistics
    assert (statistics.first, statistics.end, statistics.is_partial) == (7, 8, True)
    assert statistics.largest == statistics.bytes > 0
    assert frame(message(7, None, key=None)).statistics[0].is_partial


def test_no_message_has_neither_rows_nor_statistics() -> None:
    tagged = frame(None)
    assert (list(tagged.rows()), tagged.statistics) == ([], [])


def test_reading_a_message_waits_until_kafka_answers() -> None:
    given = (InMemoryMessages(), Status(Metrics()))
    processor = BatchProcessor(
        CollectingWriter(), CollectedDeadLetters(), *given, stop=threading.Event(), first_wait=0.01
    )
    faults = [ServerUnavailable("Kafka", "host:9092", "no answer")]

    def find() -> Message:
        if faults:
            raise faults.pop()
        return message(7, run_event("r"))

    batch = processor.read(FirstMessage(find, DEFAULT_DECOMPRESSION, None), 3, "q")
    assert batch.tagged.offsets() == {"t": {1: 8}}


def after_the_end_of_java(room: Room) -> dict[str, object]:
    """Return the settings of a consumer whose predecessor ran out of memory."""
    memo = room.folder / "home" / "part-bytes" / room.topic
    memo.parent.mkdir(parents=True)
    memo.write_text(str(ONE_MESSAGE))
    # Every message is larger than the share of a task, so parts do not grow back.
    return {"home": room.folder / "home", "max_batch_bytes": 4}


@pytest.mark.end_to_end
def test_a_batch_is_read_message_by_message_over_gaps_dead_letters_and_empty_messages(room: Room) -> None:
    room.send([run_event("one"), b"{bad", run_event("two")], partition=1)
    room.send_in_transactions([[run_event("three")], [run_event("four"), run_event("five")]], partition=2)
    room.send([None], partition=3)
    room.consume(**after_the_end_of_java(room))
    assert room.writer.runs == {"one", "two", "three", "four", "five"}
    assert {len(payloads) for payloads in room.writer.rows.values()} == {1}
    assert sorted(letter.message.position for letter in room.letters()) == [(1, 1), (3, 0)]
    assert len(room.writer.positions) >= 7
    assert room.writer.batch_positions[-1].offsets[room.topic][1] == 3


@pytest.mark.end_to_end
def test_a_consumer_that_ended_over_a_part_continues_behind_the_parts_that_are_in_the_graph(room: Room) -> None:
    room.send([run_event(f"r{number}") for number in range(5)], partition=0)
    settings = after_the_end_of_java(room)
    written = room.writer.write

    def write_two(*given: object) -> object:
        if len(room.writer.positions) == 2:
            raise KeyError("ended")
        return written(*given)  # type: ignore[arg-type]

    room.writer.write = write_two  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyError):
        room.consume(**settings)
    assert len(room.writer.positions) == 2
    room.writer.write = written  # type: ignore[method-assign]
    room.consume(**settings)
    assert room.writer.runs == {f"r{number}" for number in range(5)}
    assert {len(payloads) for payloads in room.writer.rows.values()} == {1}


@pytest.mark.end_to_end
def test_a_message_that_kafka_deleted_before_it_was_read_alone_ends_the_consumer(room: Room) -> None:
    room.send([run_event(f"r{number}") for number in range(3)], partition=0)
    stream = room.stream()
    delete_messages(room.client, room.topic, {0: 2})
    with pytest.raises(MessagesLost, match="/0 from 0 to 1"):
        stream._frame_again({0: (0, 3)}, ONE_MESSAGE).toArrow()
    skipping = room.stream(fail_on_data_loss=False)
    (statistics,) = Tagged(skipping._frame_again({0: (0, 3)}, ONE_MESSAGE).toArrow()).statistics
    assert (statistics.first, statistics.end) == (2, 3)
