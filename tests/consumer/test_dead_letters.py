"""Every reason code of specification 8 over real Kafka: the message stands on the dead-letter topic as it came."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest

from headwater_avro.errors import REJECTION_CODES, ServerUnavailable
from headwater_consumer.kafka.dead_letters import (
    LONGEST_DETAIL,
    NAMES,
    REDRIVEN,
    REDUCED_VALUE,
    DeadLetter,
    KafkaDeadLetters,
    Reduced,
    read_letter,
    reduced_form,
)
from headwater_consumer.kafka.messages import KafkaMessages, Message

from .fakes import CollectedDeadLetters
from .kafka_room import Room, run_event

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def text(**changed: Any) -> bytes:
    return json.dumps(run_event("poison") | changed).encode()


def nested(levels: int) -> bytes:
    return text().replace(b'"n"', b"[" * levels + b"]" * levels, 1)


def compressed(times: int) -> bytes:
    message = text()
    for _ in range(times):
        message = gzip.compress(message, mtime=0)
    return message


# What is sent -> the reason code that must come back.
POISON: dict[str, tuple[bytes | None, str]] = {
    "no value": (None, "not_decodable"),
    "an empty value": (b"", "not_decodable"),
    "no JSON": (b"{bad", "not_decodable"),
    "invalid UTF-8": (text().replace(b"poison", b"po\xff\xfeison"), "not_decodable"),
    "NaN": (text(producer=float("nan")), "not_decodable"),
    "Infinity": (text(producer=float("inf")), "not_decodable"),
    "10,000 levels": (nested(10_000), "not_decodable"),
    "201 levels": (nested(201), "not_decodable"),
    "broken gzip": (gzip.compress(text())[:-9], "not_decodable"),
    "broken zstd": (b"\x28\xb5\x2f\xfd nothing", "not_decodable"),
    "gzip in gzip, 1,500 times": (compressed(1_500), "not_decodable"),
    "an unknown Avro schema": (b"\xc3\x01" + bytes(8) + b"body", "unknown_schema"),
    "a registry's schema": (b"\x00\x00\x00\x00\x07body", "unknown_schema"),
    "a list": (b"[1,2]", "not_an_object"),
    "a number": (b"17", "not_an_object"),
    "no job": (json.dumps({"eventTime": "2025-01-01T00:00:00Z"}).encode(), "not_an_event"),
    "no runId": (text(run={}), "missing_identity"),
    "an input without a name": (text(inputs=[{"namespace": "n"}]), "missing_identity"),
    "a control character": (text(run={"runId": "a\x01"}), "bad_identity"),
    "a name of 2,001 characters": (text(job={"namespace": "n", "name": "x" * 2_001}), "bad_identity"),
    "hour 25": (text(eventTime="2025-01-01T25:00:00Z"), "bad_event_time"),
    "a bomb of 200 MB": (gzip.compress(b" " * 200_000_000, 1), "too_large"),
}

# Odd, and nothing to reject.
ODD: dict[str, bytes] = {
    "a lone surrogate": json.dumps(run_event("surrogate", producer="\ud800")).encode(),
    "a number of 400 digits": json.dumps(run_event("digits")).encode()[:-1] + b',"producer":' + b"9" * 400 + b"}",
    "duplicate keys": json.dumps(run_event("twice")).encode().replace(b'"runId"', b'"runId":"first","runId"'),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(run_event("mark")).encode(),
    "a long name": json.dumps(run_event("long", job={"namespace": "n", "name": "x" * 2_000})).encode(),
    "nearly the limit": json.dumps(run_event("large", producer="x" * 1_000_000)).encode(),
    "gzip": gzip.compress(json.dumps(run_event("gzip")).encode()),
}
ODD_RUNS = {"surrogate", "digits", "twice", "mark", "long", "large", "gzip"}


@pytest.mark.end_to_end
def test_every_message_that_cannot_be_used_is_a_dead_letter_and_no_other_is_lost(room: Room) -> None:
    headers = [("content-type", b"application/json"), ("twice", b"1"), ("twice", b"2"), ("empty", None)]
    for number, (value, _) in enumerate(POISON.values()):
        room.send([value], key=f"key {number}".encode(), headers=headers, timestamp=1_700_000_000_000 + number)
        room.send([run_event(f"good {number}")])
    room.send(list(ODD.values()))
    room.consume()
    letters = {letter.message.key: letter for letter in room.letters()}
    found = {name: letters[f"key {number}".encode()].code for number, name in enumerate(POISON)}
    assert found == {name: code for name, (_, code) in POISON.items()}
    assert room.writer.runs == {f"good {number}" for number in range(len(POISON))} | ODD_RUNS
    for letter in letters.values():
        (stored,) = room.stored([letter.message.position])
        assert letter.message == stored
        assert letter.message.headers == tuple(headers)
        assert letter.detail


@pytest.mark.end_to_end
def test_all_messages_of_a_refused_entity_become_dead_letters_unchanged(room: Room) -> None:
    room.writer.refuses = {b"old": ("before_horizon", "older than the horizon"), b"odd": ("store_refused", "refused")}
    room.send([run_event("old", eventType=kind) for kind in ("START", "RUNNING", "COMPLETE")], key=b"old")
    room.send([run_event("odd")], key=b"odd", headers=[("a", b"b")])
    room.send([run_event("good")])
    room.consume()
    assert room.writer.runs == {"good"}
    letters = room.letters()
    assert sorted(letter.code for letter in letters) == ["before_horizon"] * 3 + ["store_refused"]
    for letter in letters:
        assert [letter.message] == room.stored([letter.message.position])


@pytest.mark.end_to_end
def test_a_dead_letter_too_large_for_spark_arrives_complete(room: Room) -> None:
    values = [b"{bad" + bytes([48 + number]) * 900_000 for number in range(9)]
    room.send(values, key=b"k")
    room.consume()
    assert sorted(letter.message.value or b"" for letter in room.letters()) == sorted(values)


@pytest.mark.end_to_end
def test_dead_letters_of_a_repeated_batch_stay_the_same_letters(room: Room) -> None:
    room.send([b"{bad", run_event("one")])
    room.consume()
    room.folder = room.folder / "lost"
    room.consume()
    assert len(room.letters()) == 1


@pytest.mark.end_to_end
def test_a_dead_letter_keeps_the_time_of_its_message(room: Room) -> None:
    room.send([b"{bad"], timestamp=1_600_000_000_000)
    room.consume()
    assert [letter.message.timestamp for letter in room.letters()] == [1_600_000_000_000]


@pytest.mark.end_to_end
def test_missing_messages_are_left_out_when_fetched_by_position(room: Room) -> None:
    room.send([b"0", b"1", b"2"], partition=2)
    fetched = KafkaMessages(room.topic, room.client).fetch([(2, 2), (2, 0), (2, 9), (0, 0), (2, 50_000)])
    assert [(message.position, message.value) for message in fetched] == [((2, 0), b"0"), ((2, 2), b"2")]


@pytest.mark.end_to_end
def test_an_unavailable_broker_raises_server_unavailable_for_dead_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater_consumer.kafka.dead_letters.DELIVERY", 1.0)
    sink = KafkaDeadLetters("t", {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "error_cb": lambda _: None})
    with pytest.raises(ServerUnavailable, match=r"dead-letter topic does not answer at 127\.0\.0\.1:1"):
        sink.send([letter()])


def letter(**changed: Any) -> DeadLetter:
    given: dict[str, Any] = {
        "topic": "t", "partition": 3, "offset": 14, "timestamp": 7, "key": b"k", "value": b"v",
        "headers": (("a", b"1"), ("a", None)),
    }  # fmt: skip
    return DeadLetter(Message(**given | changed), "not_decodable", "what is wrong", WHEN)


def on_topic(sent: DeadLetter) -> Message:
    message = sent.message
    return Message("t.dead", 0, 99, message.timestamp, message.key, message.value, tuple(sent.headers()))


def test_a_dead_letter_is_read_back_as_it_was_sent() -> None:
    assert read_letter(on_topic(letter())) == letter()


def test_the_headers_of_a_dead_letter_have_the_documented_names_in_their_order() -> None:
    assert letter().headers()[2:] == [
        ("headwater.dead.code", b"not_decodable"),
        ("headwater.dead.detail", b"what is wrong"),
        ("headwater.dead.topic", b"t"),
        ("headwater.dead.partition", b"3"),
        ("headwater.dead.offset", b"14"),
        ("headwater.dead.time", b"2026-01-02T03:04:05+00:00"),
        ("headwater.dead.timestamp", b"7"),
    ]


def test_a_letter_of_an_earlier_version_has_its_messages_timestamp() -> None:
    found = on_topic(letter())
    earlier = tuple(header for header in found.headers if header[0] != "headwater.dead.timestamp")
    message = Message("t.dead", 0, 99, 1_600_000_000_000, found.key, found.value, earlier)
    read = read_letter(message)
    assert read is not None
    assert read.message.timestamp == 1_600_000_000_000


@pytest.mark.parametrize(
    ("header", "value"),
    [("partition", b"x"), ("offset", b"9" * 5_000), ("time", b"yesterday"), ("timestamp", b"-"), ("time", b"\xff")],
)
def test_a_foreign_message_on_the_topic_is_not_a_dead_letter(header: str, value: bytes) -> None:
    found = on_topic(letter())
    headers = tuple((name, value if name.endswith(f".{header}") else text) for name, text in found.headers)
    assert read_letter(Message("t.dead", 0, 99, 7, None, None, headers)) is None


@pytest.mark.parametrize(
    "garbage", [b"garbage", b"\xff/0/1", b"t/x/1", b"/0/1", b"t/0/" + b"9" * 5_000, b"t/-1/0", b""]
)
def test_a_malformed_identity_header_is_ignored(garbage: bytes) -> None:
    odd = letter(headers=((REDRIVEN, garbage),))
    found = odd.identity
    assert found == ("t", 3, 14) or garbage == b"\xff/0/1"
    assert read_letter(on_topic(odd)) == odd


def test_a_reduced_letter_describes_its_message() -> None:
    headers = (("a", b"1"), ("large", b"x" * 5_000), (REDRIVEN, b"t/0/1"), ("none", None))
    whole = letter(value=b"{bad" * 1_000, key=b"k" * 5_000, headers=headers)
    reduced = reduced_form(whole, "too large")
    assert reduced.reduced == Reduced("too large", sha256(b"{bad" * 1_000).hexdigest(), 4_000)
    assert (reduced.message.value, reduced.message.key) == ((b"{bad" * 1_000)[:REDUCED_VALUE], b"t/0/1")
    assert [name for name, _ in reduced.message.headers] == ["a", REDRIVEN, "none"]
    assert (reduced.identity, reduced.size, whole.size) == (whole.identity, 4_000, 4_000)
    assert read_letter(on_topic(reduced)) == reduced
    assert reduced_form(letter(value=None), "no").size == 0


def test_a_message_without_a_reason_is_not_a_dead_letter() -> None:
    for missing in NAMES:
        found = on_topic(letter())
        stored = tuple(header for header in found.headers if header[0] != missing)
        assert read_letter(Message("t.dead", 0, 0, 7, None, None, stored)) is None


def test_a_detail_is_truncated_to_the_length_of_a_header() -> None:
    long = DeadLetter(letter().message, "not_decodable", "x" * 5_000, WHEN)
    assert len(dict(long.headers())["headwater.dead.detail"] or b"") == LONGEST_DETAIL


def test_a_redriven_message_that_is_rejected_again_stays_the_same_letter() -> None:
    again = letter(offset=200, headers=((REDRIVEN, b"a/b.c/3/14"),))
    assert again.identity == ("a/b.c", 3, 14)
    assert letter().identity == ("t", 3, 14)


def test_the_sink_in_memory_collects_letters_and_raises_its_faults_first() -> None:
    def faults() -> Iterator[Exception]:
        yield ServerUnavailable("Kafka", "a", "b")

    sink = CollectedDeadLetters(faults())
    with pytest.raises(ServerUnavailable):
        sink.send([letter()])
    sink.send([letter()])
    assert sink.letters == [letter()]


def test_the_bad_messages_here_cover_every_code_of_decoding() -> None:
    of_the_graph = {"before_horizon", "store_refused"}
    # tests/security/test_signed_messages.py has those for which a consumer needs the keys of producers.
    assert {code for _, code in POISON.values()} == set(REJECTION_CODES) - of_the_graph - {"not_allowed"}
