"""Messages with Confluent framing (specification 15) are the events in them."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
import zstandard

from headwater_avro.codec import encode_avro, read_message
from headwater_avro.errors import EventRejected, ServerUnavailable
from headwater_avro.framing import unframed
from headwater_avro.registry import NO_REGISTRY, RegisteredSchema

from .registries import AVRO, ENVELOPE, JSON, MemorySchemas, framed

EVENT = {
    "eventTime": "2026-01-01T00:00:00Z",
    "eventType": "START",
    "run": {"runId": "r", "facets": {"f": {"v": 1}}},
    "job": {"namespace": "n", "name": "j"},
    "outputs": [{"namespace": "n", "name": "d", "outputFacets": {"o": {"rows": 2}}}],
}
TEXT = json.dumps(EVENT, separators=(",", ":")).encode()
RECORD = encode_avro(TEXT)[10:]


def envelope(**changed: Any) -> RegisteredSchema:
    return RegisteredSchema("AVRO", json.dumps(json.loads(ENVELOPE) | changed))


NEWER = envelope(
    fields=[{"name": "added", "type": "string", "default": ""}, *json.loads(ENVELOPE)["fields"]], doc="a later one"
)
SCHEMAS = MemorySchemas(
    {
        1: AVRO,
        2: JSON,
        3: NEWER,
        4: RegisteredSchema("AVRO", '{"type": "record", "name": "Order", "fields": []}'),
        5: RegisteredSchema("PROTOBUF", "message Event {}"),
        6: RegisteredSchema("AVRO", "no JSON"),
        7: RegisteredSchema("AVRO", '"string"'),
        8: envelope(fields=[]),
        0x01020304: JSON,
    }
)


@pytest.mark.parametrize(
    "value",
    [
        framed(1, RECORD),
        framed(2, TEXT),
        framed(3, b"\x0aadded" + RECORD),
        framed(0x01020304, TEXT),
        zstandard.compress(framed(1, RECORD)),
        gzip.compress(zstandard.compress(framed(2, TEXT))),
    ],
    ids=["Avro", "JSON", "newer Avro", "large id", "zstd", "gzip of zstd"],
)
def test_a_framed_message_is_the_event_in_it(value: bytes) -> None:
    assert read_message(unframed(value, SCHEMAS)) == read_message(TEXT)


@pytest.mark.parametrize("value", [None, b"", TEXT, encode_avro(TEXT), b"nonsense"])
def test_a_message_without_a_frame_is_unchanged_and_needs_no_registry(value: bytes | None) -> None:
    schemas = MemorySchemas(away=True)
    assert unframed(value, schemas) is value
    assert schemas.requested == []


def test_a_compressed_message_without_a_frame_is_decompressed() -> None:
    assert unframed(zstandard.compress(TEXT), MemorySchemas(away=True)) == TEXT


@pytest.mark.parametrize(
    ("value", "code", "detail"),
    [
        (framed(9, RECORD), "unknown_schema", "no schema id 9"),
        (framed(4, RECORD), "unknown_schema", "not a version of the record"),
        (framed(5, RECORD), "unknown_schema", "PROTOBUF"),
        (framed(6, RECORD), "unknown_schema", "not an Avro schema"),
        (framed(7, RECORD), "unknown_schema", "not a version of the record"),
        (framed(8, RECORD), "unknown_schema", "not a version of the envelope"),
        (framed(1, b"\xff\xff"), "not_decodable", "not a record of its schema"),
        (framed(1, b""), "not_decodable", "ends after the schema id"),
        (b"\x00\x00", "not_decodable", "ends after the schema id"),
        (b"\x1f\x8bbroken", "not_decodable", "broken gzip"),
    ],
)
def test_an_unreadable_message_is_rejected_with_a_reason(value: bytes, code: str, detail: str) -> None:
    with pytest.raises(EventRejected, match=detail) as caught:
        unframed(value, SCHEMAS)
    assert caught.value.code == code


def test_without_a_registry_a_framed_message_has_an_unknown_schema() -> None:
    with pytest.raises(EventRejected, match="no schema registry is set") as caught:
        unframed(framed(7, RECORD), NO_REGISTRY)
    assert caught.value.code == "unknown_schema"


def test_an_unavailable_registry_rejects_no_message() -> None:
    with pytest.raises(ServerUnavailable):
        unframed(framed(1, RECORD), MemorySchemas({1: AVRO}, away=True))
