"""A message as one line of JSON, without loss.

``{"partition": 0, "offset": 12, "timestamp": 1767225600000, "key": "…", "value": "…", "headers": [["name", "…"]]}``

Keys, values and header values are strings if their bytes are UTF-8, else ``{"base64": "…"}``, and null if Kafka has null;
``timestamp`` is in milliseconds since 1970, -1 if the message has none.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, TypeAlias

from headwater_avro.errors import HeadwaterError
from headwater_consumer.kafka.messages import Message

JsonBytes: TypeAlias = str | dict[str, str] | None
"""Bytes as they are represented in JSON."""


class Damaged(HeadwaterError):
    """The content of an archive file has changed since it was written: restore it from a copy."""


def line_of(message: Message) -> bytes:
    """Return a message as a line, with its newline."""
    members = {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        "key": _json_bytes(message.key),
        "value": _json_bytes(message.value),
        "headers": [[name, _json_bytes(value)] for name, value in message.headers],
    }
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def message_of(topic: str, line: bytes) -> Message:
    """Return the message that ``line_of`` wrote; raise Damaged for any other line."""
    try:
        members = json.loads(line)
        return Message(
            topic,
            int(members["partition"]),
            int(members["offset"]),
            int(members["timestamp"]),
            _bytes(members["key"]),
            _bytes(members["value"]),
            tuple((str(name), _bytes(value)) for name, value in members["headers"]),
        )
    except (ValueError, TypeError, KeyError, binascii.Error) as fault:
        raise Damaged(f"a line of the archive is not a message: {line[:80]!r}") from fault


def _json_bytes(octets: bytes | None) -> JsonBytes:
    if octets is None:
        return None
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(octets).decode()}


def _bytes(value: Any) -> bytes | None:
    match value:
        case None:
            return None
        case str():
            return value.encode()
        case _:
            return base64.b64decode(value["base64"], validate=True)
