"""Confluent framing (specification 15): ``00``, four bytes of schema id, then the record that the registered schema describes.

The schema is either an Avro schema that is a version of the envelope, or a JSON schema, whose messages are the JSON of the
event.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .avro_codec import parse_schema, read_record
from .codec import DEFAULT_DECOMPRESSION, Decompression, Decompressor
from .errors import EventRejected
from .registry import RegisteredSchema, Schemas

FRAME = b"\x00"
ENVELOPE = "headwater.Event"
_HEAD = 5
_MAY_BE_FRAMED = frozenset((0x00, 0x28, 0x1F))


def unframed(
    value: bytes | None, schemas: Schemas, decompression: Decompression = DEFAULT_DECOMPRESSION
) -> bytes | None:
    """Return a message's value decompressed and without its frame; the value itself if it has neither.

    Raises EventRejected: ``unknown_schema`` for an id that the registry does not know or a schema that is not an event's,
    ``not_decodable`` for a record that does not match its schema, ``too_large`` beyond the limits of decompression.
    Raises ServerUnavailable while the registry does not answer.
    """
    if not value or value[0] not in _MAY_BE_FRAMED:
        return value
    decompressor = Decompressor(value, decompression)
    content = decompressor.decompress(value)
    return decompressor.decompress(_body(content, schemas)) if content.startswith(FRAME) else content


def _body(value: bytes, schemas: Schemas) -> bytes:
    if len(value) <= _HEAD:
        raise EventRejected("not_decodable", "the message ends after the schema id")
    number = int.from_bytes(value[1:_HEAD], "big")
    registered = schemas.schema(number)
    match registered.kind:
        case "JSON":
            return value[_HEAD:]
        case "AVRO":
            return read_record(value[_HEAD:], _envelope(registered, number))
    raise EventRejected("unknown_schema", f"schema id {number} is {registered.kind}; only AVRO and JSON are supported")


@lru_cache(maxsize=1_000)
def _envelope(registered: RegisteredSchema, number: int) -> Any:
    try:
        parsed = parse_schema(registered.text)
    except ValueError as fault:
        raise EventRejected("unknown_schema", f"schema id {number} is not an Avro schema: {fault}") from None
    if not isinstance(parsed, dict) or parsed.get("name") != ENVELOPE:
        raise EventRejected("unknown_schema", f"schema id {number} is not a version of the record {ENVELOPE}")
    return parsed
