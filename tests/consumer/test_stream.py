"""The stream from real Kafka to a collecting writer."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from headwater_avro.errors import HeadwaterError, ServerUnavailable
from headwater_consumer.losses import MessagesLost

from .kafka_room import CollectingWriter, Room, run_event
from .topics import delete_messages

pytestmark = pytest.mark.end_to_end


def until(reached: Callable[[], bool], seconds: float = 120.0) -> None:
    give_up = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < give_up, "not reached in time"
        time.sleep(0.05)


def test_every_run_on_the_topic_reaches_the_writer_and_a_bad_message_the_dead_letters(room: Room) -> None:
    room.send([run_event(f"r{number}") for number in range(300)])
    room.send([b"{bad"], key=b"a key")
    room.consume()
    assert room.writer.runs == {f"r{number}" for number in range(300)}
    (letter,) = room.letters()
    assert (letter.code, letter.message.value, letter.message.key) == ("not_decodable", b"{bad", b"a key")


def test_malicious_messages_are_dead_letters_and_the_stream_continues(room: Room) -> None:
    room.send([run_event("before")], partition=0)
    cloud_event = {"content-type": b"application/cloudevents+json"}
    room.send([b'{"data_base64":"\xc3\xa9"}'], headers=cloud_event, partition=0)
    room.send([b"[" * 201 + b'"' + b'\\"' * 400_000], partition=0)
    bomb = json.dumps(run_event("bomb")).encode()[:-1] + b',"x":[' + b"{}," * 40_000_000 + b"{}]}"
    room.send([zstandard.compress(bomb)], partition=0)
    room.send([zstandard.compress(json.dumps(run_event("large", producer="x" * 9_000)).encode())], partition=0)
    room.send([run_event("after")], partition=0)
    room.consume(max_decompressed_bytes=8_000)
    assert room.writer.runs == {"before", "after"}
    letters = sorted(room.letters(), key=lambda letter: letter.message.offset)
    assert [letter.code for letter in letters] == ["not_an_event", "not_decodable", "too_large", "too_large"]
    assert "HEADWATER_MAX_DECOMPRESSED_BYTES" in letters[3].detail


def test_a_second_start_continues_where_the_first_stopped(room: Room) -> None:
    room.send([run_event("one")])
    room.consume()
    room.writer = CollectingWriter(batch_positions=room.writer.batch_positions)
    room.send([run_event("two")])
    room.consume()
    assert room.writer.runs == {"two"}


def test_missing_messages_are_written_before_the_stream_continues(room: Room) -> None:
    room.send([run_event("one")])
    room.consume()
    room.writer = CollectingWriter()
    room.send([run_event("two")])
    room.consume()
    assert [key for _, key in room.writer.rows] == [b"one", b"two"]


def test_after_the_loss_of_the_checkpoint_the_topic_is_read_again(room: Room, tmp_path: Path) -> None:
    room.send([run_event("one")])
    room.consume()
    room.writer = CollectingWriter()
    room.folder = tmp_path / "new"
    room.consume()
    assert room.writer.runs == {"one"}


def test_batches_stay_within_their_message_limit(room: Room) -> None:
    room.send([run_event(f"r{number}") for number in range(100)])
    room.consume(max_offsets_per_trigger=30)
    assert len(room.writer.positions) >= 4
    assert len(room.writer.runs) == 100


def heavy(runs: range) -> list[dict[str, Any]]:
    return [run_event(f"r{number}", producer="x" * 5_000) for number in runs]


def test_a_batch_of_more_bytes_than_may_be_read_at_a_time_is_read_in_parts(room: Room) -> None:
    room.send(heavy(range(30)))
    room.send([b"{bad" + bytes(5_000)], key=b"a key")
    room.consume(max_batch_bytes=20_000)
    positions = room.writer.positions
    assert len(positions) > 5
    assert {position.batch_id for position in positions[:-1]} == {-1}
    assert positions[-1].batch_id == 0
    assert {len(payloads) for payloads in room.writer.rows.values()} == {1}
    assert room.writer.runs == {f"r{number}" for number in range(30)}
    assert sum(room.writer.committed_offsets().offsets[room.topic].values()) == 31
    assert [letter.code for letter in room.letters()] == ["not_decodable"]


def test_a_batch_left_in_the_middle_of_its_parts_is_read_whole_at_the_next_start(room: Room) -> None:
    room.send(heavy(range(24)))
    stream = room.stream(max_batch_bytes=20_000)
    written = room.writer.write

    def write_twice(prepared: Any, position: Any) -> Any:
        if len(room.writer.positions) == 2:
            raise KeyError("bug")
        return written(prepared, position)

    room.writer.write = write_twice  # type: ignore[method-assign]
    with pytest.raises(KeyError):
        stream.run(available_now=True)
    assert len(room.writer.positions) == 2
    first = set(room.writer.runs)
    assert first < {f"r{number}" for number in range(24)}
    room.writer.write = written  # type: ignore[method-assign]
    room.consume(max_batch_bytes=20_000)
    assert room.writer.runs == {f"r{number}" for number in range(24)}
    assert {len(room.writer.rows["run", run.encode()]) for run in first} == {2}
    assert sum(room.writer.committed_offsets().offsets[room.topic].values()) == 24


def test_what_is_read_again_is_read_in_parts_too(room: Room) -> None:
    room.send(heavy(range(20)))
    room.consume()
    assert len(room.writer.positions) == 1
    room.writer = CollectingWriter()
    room.consume(max_batch_bytes=20_000)
    assert len(room.writer.positions) > 3
    assert room.writer.runs == {f"r{number}" for number in range(20)}
    assert room.writer.batch_positions[-1].batch_id == 0


def test_the_position_has_the_offset_after_the_last_message_of_each_partition(room: Room) -> None:
    room.send([run_event(f"r{number}") for number in range(40)])
    room.consume()
    last = room.writer.positions[-1]
    assert sum(last.offsets[room.topic].values()) == 40
    assert last.query_id


def test_the_consumer_waits_for_an_unavailable_graph_without_dead_letters(room: Room) -> None:
    room.writer.faults = iter([ServerUnavailable("Neo4j", "bolt://x", "gone")] * 3)
    room.send([run_event("one")])
    room.consume()
    assert room.writer.runs == {"one"}
    assert room.letters() == []
    assert room.status.state.phase == "running"


def test_while_the_graph_is_unavailable_the_state_says_so_and_a_stop_request_ends_the_wait(room: Room) -> None:
    def away() -> ServerUnavailable:
        return ServerUnavailable("Neo4j", "bolt://x", "gone")

    room.writer.faults = iter(away, None)
    room.send([run_event("one")])
    stream = room.stream()
    thread = threading.Thread(target=stream.run, kwargs={"available_now": False})
    thread.start()
    until(lambda: room.status.state.phase == "waiting")
    assert "Neo4j does not answer at bolt://x" in str(room.status.state.reason)
    room.stop.set()
    thread.join(60)
    assert not thread.is_alive()
    room.stop.clear()
    room.writer.faults = iter(())
    room.consume()
    assert room.writer.runs == {"one"}


def test_a_running_stream_reads_new_messages_and_stops_when_idle(room: Room) -> None:
    stream = room.stream()
    thread = threading.Thread(target=stream.run, kwargs={"available_now": False})
    thread.start()
    room.send([run_event("first")])
    until(lambda: "first" in room.writer.runs)
    room.send([run_event("second")])
    until(lambda: "second" in room.writer.runs)
    room.stop.set()
    thread.join(60)
    assert not thread.is_alive()


def torn(room: Room, file: str) -> None:
    """Leave a file of the checkpoint as a power failure does: empty, its checksum too."""
    found = room.folder / "checkpoint" / file
    found.write_bytes(b"")
    (found.parent / f".{found.name}.crc").unlink()


@pytest.mark.parametrize("file", ["offsets/1", "commits/1", "metadata", "sources/0/0"])
def test_with_a_truncated_checkpoint_the_stream_continues_from_the_graphs_offsets(
    room: Room, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    for run in ("one", "two"):
        room.send([run_event(run)])
        room.consume()
    torn(room, file)
    room.writer = CollectingWriter(batch_positions=room.writer.batch_positions)
    room.send([run_event("three")])
    with caplog.at_level("WARNING"):
        room.consume()
    assert room.writer.runs == {"three"}
    lines = [record.getMessage() for record in caplog.records if record.name == "headwater.consumer"]
    assert lines == ["the checkpoint is lost: continuing from the offsets in the graph"]
    room.writer = CollectingWriter(batch_positions=room.writer.batch_positions)
    room.consume()
    assert room.writer.runs == set()


def test_a_flipped_byte_in_a_checkpoint_counts_as_damage(room: Room) -> None:
    room.send([run_event("one")])
    room.consume()
    found = room.folder / "checkpoint" / "offsets" / "0"
    octets = bytearray(found.read_bytes())
    octets[-2] ^= 1
    found.write_bytes(octets)
    room.writer = CollectingWriter(batch_positions=room.writer.batch_positions)
    room.send([run_event("two")])
    room.consume()
    assert room.writer.runs == {"two"}


def test_messages_deleted_while_the_consumer_runs_end_it_with_their_offsets(room: Room) -> None:
    let_go = threading.Event()

    def away() -> ServerUnavailable | None:
        return None if let_go.is_set() else ServerUnavailable("Neo4j", "bolt://x", "gone")

    room.writer.faults = (fault for fault in iter(away, None))
    # Large enough for Kafka's client not to have all of them before they are deleted.
    events = [run_event(f"r{number}", producer=os.urandom(150_000).hex()) for number in range(100)]
    room.send(events, partition=0)
    stream = room.stream(max_offsets_per_trigger=10)
    ended: list[BaseException] = []

    def run() -> None:
        try:
            stream.run(available_now=False)
        except HeadwaterError as fault:
            ended.append(fault)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: room.status.state.phase == "waiting")
    delete_messages(room.client, room.topic, {0: 80})
    let_go.set()
    thread.join(120)
    room.stop.set()
    thread.join(60)
    (fault,) = ended
    assert isinstance(fault, MessagesLost), fault
    written = room.writer.batch_positions[-1].offsets[room.topic][0]
    assert f"{80 - written} offsets: {room.topic}/0 from {written} to 79" in str(fault)
    assert room.status.state.phase == "failed"
