"""Confluent's framing: ``00``, four bytes of schema id, then the record; taken off with the help of a registry (specification 15).

Under the id stands an Avro schema that is a version of our envelope, or a JSON schema, whose messages are the event's
JSON itself: which one it is does not matter, the event is read as any other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .avro_codec import parse_schema, read_record
from .codec import DEFAULT_DECOMPRESSION, Decompression, Unfolding
from .errors import EventRejected
from .registry import RegisteredSchema, Schemas

FRAME = b"\x00"
ENVELOPE = "headwater.Event"
_HEAD = 5
_MAY_BE_FRAMED = frozenset((0x00, 0x28, 0x1F))


def unframed(
    value: bytes | None, schemas: Schemas, decompression: Decompression = DEFAULT_DECOMPRESSION
) -> bytes | None:
    """Return a message's value without its frame, unfolded where it was compressed; as it is where it has no frame.

    Raises EventRejected: ``unknown_schema`` for an id that the registry doesn't know or a schema that is not ours,
    ``not_decodable`` for a record that does not follow it, ``too_large`` for one that was compressed and holds too much.
    Raises ServerUnavailable while the registry can't tell.
    """
    if not value or value[0] not in _MAY_BE_FRAMED:
        return value
    layers = Unfolding(value, decompression)
    opened = layers.unfold(value)
    return layers.unfold(_body(opened, schemas)) if opened.startswith(FRAME) else opened


def _body(value: bytes, schemas: Schemas) -> bytes:
    if len(value) <= _HEAD:
        raise EventRejected("not_decodable", "a frame with a schema id, and nothing in it")
    number = int.from_bytes(value[1:_HEAD], "big")
    registered = schemas.schema(number)
    match registered.kind:
        case "JSON":
            return value[_HEAD:]
        case "AVRO":
            return read_record(value[_HEAD:], _envelope(registered, number))
    raise EventRejected("unknown_schema", f"schema id {number} is {registered.kind}: read are AVRO and JSON")


@lru_cache(maxsize=1_000)
def _envelope(registered: RegisteredSchema, number: int) -> Any:
    try:
        parsed = parse_schema(registered.text)
    except ValueError as fault:
        raise EventRejected("unknown_schema", f"schema id {number} is no Avro schema: {fault}") from None
    if not isinstance(parsed, dict) or parsed.get("name") != ENVELOPE:
        raise EventRejected("unknown_schema", f"schema id {number} is no version of the record {ENVELOPE}")
    return parsed
