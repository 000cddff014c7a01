"""Codecs: a message is the same event on the fast and the full path, and in every encoding (specification 1, 15)."""

from __future__ import annotations

import gzip
import json
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_avro.canonical import canonical_text, parse
from headwater_avro.codec import encode_avro, read_message
from headwater_avro.errors import EventRejected
from headwater_avro.events import Event, RunEvent
from headwater_avro.json_codec import _decode, read_event, read_value

from ..golden.cases import all_cases
from ..golden.rejects import MESSAGES, Message
from ..laws.strategies import event_sets

EVENT = b'{"eventTime":"2026-01-01T00:00:00Z","run":{"runId":"r"},"job":{"namespace":"n","name":"j"}}'
GOLDEN = [message for case in all_cases() for message in case.messages]


def outcome(message: bytes) -> Any:
    """Return the event of a message with its facets in canonical form, or the code of its rejection."""
    try:
        return plain(read_message(message))
    except EventRejected as rejected:
        return rejected.code


def plain(event: Event) -> Any:
    """Return an event with each facet text in its canonical form."""

    def canonical(value: Any) -> Any:
        if isinstance(value, bytes):
            return canonical_text(value)
        if isinstance(value, dict):
            return {key: canonical(member) for key, member in value.items()}
        if isinstance(value, list | tuple):
            return [canonical(item) for item in value]
        return value

    return type(event).__name__, canonical(
        msgspec.structs.asdict(event) | {"inputs": _side(event, "inputs")} | {"outputs": _side(event, "outputs")}
    )


def _side(event: Event, side: str) -> list[Any]:
    return [[dataset.key, dataset.facets, dataset.own] for dataset in getattr(event, side, ())]


@settings(max_examples=300)
@given(event_sets())
def test_the_fast_path_reads_the_same_as_the_full_rules(messages: list[bytes]) -> None:
    for message in messages:
        by_rules: Any
        try:
            by_rules = plain(read_value(parse(message)))
        except EventRejected as rejected:
            by_rules = rejected.code
        assert outcome(message) == by_rules


def test_an_ordinary_event_takes_the_fast_path() -> None:
    assert _decode(EVENT).run.runId == "r"
    assert isinstance(read_event(EVENT), RunEvent)


@pytest.mark.parametrize("row", MESSAGES, ids=lambda row: row.name)
def test_a_message_is_rejected_with_its_code_or_accepted(row: Message) -> None:
    found = outcome(row.value)
    assert (found if isinstance(found, str) else None) == row.code


@pytest.mark.parametrize("message", GOLDEN)
def test_an_event_is_the_same_in_its_avro_envelope(message: bytes) -> None:
    expected = outcome(message)
    if isinstance(expected, str):
        return
    try:
        envelope = encode_avro(message)
    except ValueError:
        return  # an event that the envelope cannot represent stays JSON
    assert envelope[:2] == b"\xc3\x01"
    assert outcome(envelope) == expected


def test_an_envelope_with_an_unknown_fingerprint_has_an_unknown_schema() -> None:
    envelope = encode_avro(EVENT)
    assert outcome(envelope[:2] + bytes(8) + envelope[10:]) == "unknown_schema"
    assert outcome(b"\x00\x00\x00\x00\x07body") == "unknown_schema"


def test_a_broken_envelope_is_not_decodable() -> None:
    envelope = encode_avro(EVENT)
    for length in (10, 11, len(envelope) // 2):
        assert outcome(envelope[:length]) == "not_decodable"


@pytest.mark.parametrize("wrap", [zstandard.ZstdCompressor().compress, gzip.compress], ids=["zstd", "gzip"])
def test_a_compressed_message_is_the_event_in_it(wrap: Any) -> None:
    assert outcome(wrap(EVENT)) == outcome(EVENT)
    assert outcome(wrap(encode_avro(EVENT))) == outcome(EVENT)
    assert outcome(wrap(EVENT)[:-6]) == "not_decodable"


def test_a_message_compressed_many_times_is_not_decodable() -> None:
    message = EVENT
    for _ in range(1500):
        message = gzip.compress(message, mtime=0)
    assert outcome(message) == "not_decodable"
    assert outcome(gzip.compress(b"")) == "not_decodable"


def test_cloud_events_are_unwrapped_in_both_modes() -> None:
    structured = json.dumps({"specversion": "1.0", "type": "t", "data": json.loads(EVENT)}).encode()
    headers = [("content-type", b"application/cloudevents+json; charset=utf-8")]
    assert plain(read_message(structured, headers)) == outcome(EVENT)
    binary = [("ce_specversion", b"1.0"), ("content-type", b"application/json")]
    assert plain(read_message(EVENT, binary)) == outcome(EVENT)
    with pytest.raises(EventRejected) as rejected:
        read_message(b'{"specversion":"1.0"}', headers)
    assert rejected.value.code == "not_an_event"


@pytest.mark.parametrize("data", ["é", "€" * 40, "a", "=", "e30", "\ud83d", 5, {}], ids=ascii)
def test_a_cloud_event_whose_data_is_not_base64_is_not_an_event(data: object) -> None:
    for text in (json.dumps({"data_base64": data}), json.dumps({"data_base64": data}, ensure_ascii=data == "\ud83d")):
        with pytest.raises(EventRejected) as rejected:
            read_message(text.encode(), [("content-type", b"application/cloudevents+json")])
        assert rejected.value.code == "not_an_event"


tokens = st.sampled_from(
    [
        *(bytes([byte]) for byte in b'"\\01-.e+[]{},: \t\x00\x0b\x7fa'),
        *(b"\\u", b"d800", b"null", b"true", b"NaN", b'"k":', b"\\n", b"\\x"),
        *(b"\xc3\xa9", b"\xef\xbb\xbf", b"\xed\xa0\x80"),
    ]
)


@settings(max_examples=3_000)
@given(st.lists(tokens, min_size=1, max_size=8).map(b"".join))
def test_a_facet_that_the_fast_path_accepts_is_valid_json(text: bytes) -> None:
    """Merging parses the texts of facets, and must not fail on a text that was accepted before."""
    message = EVENT[:-2] + b',"facets":{"f":' + text + b"}}}"
    try:
        event = read_message(message)
    except EventRejected:
        return
    assert isinstance(event, RunEvent)
    for facet in event.job_facets.values():
        canonical_text(facet)
