"""Dead letters that their topic refuses: sent in a reduced form, and never in the way of other messages."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import KafkaError

from headwater_avro.errors import ConfigError, ServerUnavailable
from headwater_cli.operations.dlq import dlq
from headwater_consumer.kafka.dead_letters import REDRIVEN, KafkaDeadLetters
from headwater_consumer.kafka.messages import Message, messages_on

from .kafka_room import Room, run_event
from .test_dead_letters import letter
from .topics import configure, delete_messages

pytestmark = pytest.mark.end_to_end

HOUR = 3_600_000
DAY = 24 * HOUR
TOMORROW = int(time.time() * 1_000) + DAY
PATIENCE = 60.0


def consumed(room: Room) -> None:
    """Consume what is there; a stream that waits for ever is stopped, so that the test fails instead of hanging."""
    guard = threading.Timer(PATIENCE, room.stop.set)
    guard.start()
    try:
        room.consume()
    finally:
        guard.cancel()
    assert not room.stop.is_set(), f"the stream did not go on: {room.status.state}"


def sent_back(room: Room) -> list[Message]:
    on_topic = messages_on(room.client, room.topic)
    return [message for message in on_topic if any(name == REDRIVEN for name, _ in message.headers)]


def dead(room: Room) -> str:
    return f"{room.topic}.dead"


def sample(room: Room, name: str) -> float:
    lines = room.metrics.text().decode().splitlines()
    return float(next(line for line in lines if line.startswith(name + " ")).split()[-1])


def run_dlq(room: Room, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setenv("HEADWATER_KAFKA_BOOTSTRAP_SERVERS", room.bootstrap_servers)
    monkeypatch.setenv("HEADWATER_KAFKA_TOPIC", room.topic)
    return CliRunner().invoke(dlq, arguments)


def test_an_unusable_message_from_the_future_is_a_dead_letter_like_others(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(room.client, room.topic, message_timestamp_after_max_ms=2 * DAY)
    give_up = time.monotonic() + PATIENCE
    while not room.stored([(0, 0)]):
        assert time.monotonic() < give_up, "the topic takes no message from the future"
        room.send([b"{bad"], timestamp=TOMORROW, partition=0)
    room.send([run_event("one")], partition=0)
    consumed(room)
    assert room.writer.runs == {"one"}
    (found,) = room.letters()
    assert (found.message.timestamp, found.message.value) == (TOMORROW, b"{bad")
    configure(room.client, room.topic, message_timestamp_after_max_ms=HOUR)
    assert run_dlq(room, monkeypatch, "redrive", "--all").exception is None
    (redriven,) = sent_back(room)
    assert redriven.value == b"{bad"
    assert redriven.timestamp < TOMORROW - HOUR


def test_the_message_limit_follows_that_of_the_topic_while_the_consumer_runs(room: Room) -> None:
    stream = room.stream()
    running = threading.Thread(target=stream.run, kwargs={"available_now": False})
    running.start()
    room.send([run_event("before")], partition=0)
    configure(room.client, room.topic, max_message_bytes=4_000_000)
    bad = b"{bad" + os.urandom(3_000_000)
    room.send([bad, run_event("after")], partition=0)
    give_up = time.monotonic() + PATIENCE
    while "after" not in room.writer.runs and time.monotonic() < give_up:
        time.sleep(0.1)
    room.stop.set()
    running.join(PATIENCE)
    assert room.writer.runs == {"before", "after"}
    (found,) = room.letters()
    assert found.message.value == bad


def test_a_letter_that_its_topic_refuses_is_sent_reduced_and_can_be_fetched_and_sent_back(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(room.client, dead(room), cleanup_policy="compact")  # takes no message without a key
    values = [b"{bad" + bytes([48 + number]) * 5_000 for number in range(3)]
    room.send(values, headers=[("a", b"1")], partition=1)
    room.send([b"{with a key"], key=b"k", partition=1)
    room.send([run_event("one")], partition=1)
    consumed(room)
    assert room.writer.runs == {"one"}
    found = {item.message.offset: item for item in room.letters()}
    assert sorted(found) == [0, 1, 2, 3]
    assert (found[3].reduced, found[3].message.value) == (None, b"{with a key")
    for offset, value in enumerate(values):
        reduced = found[offset].reduced
        assert reduced is not None
        assert (reduced.sha256, reduced.bytes) == (hashlib.sha256(value).hexdigest(), len(value))
        assert value.startswith(found[offset].message.value or b"-")
        assert found[offset].message.headers == (("a", b"1"),)
        assert found[offset].identity == (room.topic, 1, offset)

    name = f"{room.topic}/1/1"
    listed = [json.loads(line) for line in run_dlq(room, monkeypatch, "list", "--json").stdout.splitlines()]
    assert [item["bytes"] for item in listed if item["letter"] == name] == [5_004]
    assert hashlib.sha256(values[1]).hexdigest() in run_dlq(room, monkeypatch, "show", name).stdout
    assert run_dlq(room, monkeypatch, "show", name, "--value").stdout_bytes == values[1]
    assert run_dlq(room, monkeypatch, "redrive", name).exception is None
    (redriven,) = sent_back(room)
    assert (redriven.value, redriven.headers) == (values[1], (("a", b"1"), (REDRIVEN, name.encode())))

    delete_messages(room.client, room.topic, {1: 2})
    result = run_dlq(room, monkeypatch, "redrive", "--all")
    assert isinstance(result.exception, ConfigError)
    assert f"{room.topic}/1/0, {name}" in str(result.exception)
    sent = sorted(message.value or b"" for message in sent_back(room))
    assert sent == sorted([values[1], values[2], b"{with a key"])


def test_a_refused_reduced_letter_is_logged_and_counted_and_does_not_stop_the_stream(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.send([b"{bad"] * 20 + [run_event("one")], partition=2)
    # Both are too small for any letter, and the topic of the letters is not too small for the other's messages.
    configure(room.client, room.topic, max_message_bytes=90)
    configure(room.client, dead(room), max_message_bytes=100)
    consumed(room)
    assert room.writer.runs == {"one"}
    left = [record for record in caplog.records if record.getMessage() == "a dead letter is refused by its topic"]
    assert sorted(record.__dict__["source"] for record in left) == sorted(f"{room.topic}/2/{at}" for at in range(20))
    assert {record.__dict__["code"] for record in left} == {"not_decodable"}
    assert sample(room, "headwater_dead_letters_refused_total") == 20


def test_a_refused_letter_among_many_leaves_the_others_complete(room: Room) -> None:
    configure(room.client, dead(room), cleanup_policy="compact")
    letters = [letter(topic=room.topic, offset=offset, key=None if offset == 77 else b"k") for offset in range(200)]
    KafkaDeadLetters(dead(room), room.client).send(letters)
    found = {item.identity[2]: item for item in room.letters()}
    assert sorted(found) == list(range(200))
    assert [offset for offset, item in found.items() if item.reduced is not None] == [77]


def test_the_consumer_waits_for_a_missing_permission_and_reports_it(room: Room) -> None:
    sink = KafkaDeadLetters(dead(room), room.client)
    fault = sink.undelivered([KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)])
    assert isinstance(fault, ServerUnavailable)
    assert f"the account may not write to the topic {dead(room)}" in str(fault)
